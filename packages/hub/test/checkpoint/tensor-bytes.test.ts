import { describe, expect, it } from "vitest";
import { thrownBy } from "../../../../tooling/testing/failure";
import { exportBytes, sourceBytes, sourceRange } from "../../src/checkpoint/tensor-bytes";

const stored = Uint8Array.from({ length: 48 }, (_, i) => i);
const read = () => stored;

describe("sourceBytes", () => {
  it("cuts rows of any width", () => {
    const source = { name: "x", rows: [2, 4] as [number, number], dtype: "F16", shape: [2, 3, 2] };
    expect(sourceRange(source)).toEqual({ byteOffset: 24, byteLength: 24 });
    expect([...sourceBytes(source, read)]).toEqual([...stored.subarray(24)]);
    const empty = { name: "x", rows: [0, 0] as [number, number], dtype: "F16", shape: [0, 3] };
    expect(sourceBytes(empty, read).length).toBe(0);
  });

  it("turns matrices of any element size", () => {
    const matrix = (dtype: string) => ({ name: "x", transpose: true as const, dtype, shape: [3, 2] });
    expect([...sourceBytes(matrix("U8"), () => stored.subarray(0, 6))]).toEqual([0, 3, 1, 4, 2, 5]);
    const floats = new Float32Array(
      sourceBytes(matrix("F32"), () => new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer)).buffer,
    );
    expect([...floats]).toEqual([1, 4, 2, 5, 3, 6]);
    expect(sourceRange(matrix("F32"))).toBeUndefined();
  });

  it.each([
    ["F32", (bytes: Uint8Array) => [...new Float32Array(bytes.buffer)]],
    ["F64", (bytes: Uint8Array) => [...new Float64Array(bytes.buffer)]],
    ["F16", (bytes: Uint8Array) => [...new Uint16Array(bytes.buffer)].map((bits) => (bits === 0x3c00 ? 1 : bits))],
    ["BF16", (bytes: Uint8Array) => [...new Uint16Array(bytes.buffer)].map((bits) => (bits === 0x3f80 ? 1 : bits))],
  ])("makes an identity and zeros of %s", (dtype, decode) => {
    const identity = sourceBytes({ made: "identity", dtype, shape: [3, 3, 1, 1] }, read);
    expect(decode(identity)).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1]);
    expect(decode(sourceBytes({ made: "zeros", dtype, shape: [2] }, read))).toEqual([0, 0]);
  });

  it("refuses types that it does not know", () => {
    expect(thrownBy(() => sourceBytes({ made: "identity", dtype: "I8", shape: [1, 1] }, read)).code).toBe("dtype");
    expect(thrownBy(() => sourceRange({ name: "x", dtype: "Q4", shape: [1] })).code).toBe("dtype");
  });
});

describe("exportBytes", () => {
  it("puts parts together and turns matrices", () => {
    const parts: Record<string, Uint8Array> = {
      q: Uint8Array.of(1, 2),
      k: Uint8Array.of(3, 4),
      v: Uint8Array.of(5, 6),
    };
    const merged = { component: "image_encoder" as const, names: ["q", "k", "v"], dtype: "U8", shape: [6] };
    expect([...exportBytes(merged, (name) => parts[name]!)]).toEqual([1, 2, 3, 4, 5, 6]);
    const turned = { ...merged, names: ["q"], transpose: true as const, shape: [3, 2] };
    expect([...exportBytes(turned, () => Uint8Array.of(1, 2, 3, 4, 5, 6))]).toEqual([1, 4, 2, 5, 3, 6]);
  });
});
