import { allocateBuffer, allocateFloats, sharedFloats } from "@vd/kernels-native";
import { describe, expect, test, vi } from "vitest";
import { Graph } from "../src/graph";
import { readHost, readHostSync, writeCheckedHost, writeHost, writeHostSync } from "../src/host";
import { failure } from "./support/failure";

const COUNT = 1_000_003;
const BASE = 64;

/** A tensor of so many numbers, and a buffer that it lies in from byte {@link BASE} on. */
function target(dtype: "f32" | "f16" | "i8") {
  const tensor = new Graph().input("x", [1, 1, 1, COUNT], dtype);
  const buffer = allocateBuffer(BASE + 4 * COUNT);
  return { tensor, buffer, calls: vi.spyOn(buffer, "write"), floatCalls: vi.spyOn(buffer, "writeCheckedFloats") };
}

const numbers = <T extends ArrayBufferLike>(into: Float32Array<T>): Float32Array<T> => {
  for (let i = 0; i < into.length; i++) into[i] = (i % 2001) - 1000;
  return into;
};

describe("numbers that a type of whole numbers cannot hold", () => {
  test.each([
    ["i32", [0, 2 ** 32 + 4], "4294967300"],
    ["i32", [0, Number.NaN], "NaN"],
    ["i32", [0.5, 1], "0.5"],
    ["i8", [1, 128], "128"],
    ["u8", Float32Array.of(-1, 2), "-1"],
    ["u8", Int8Array.of(3, -2), "-2"],
  ] as const)("are refused for %s before anything is written", (dtype, data, got) => {
    const buffer = allocateBuffer(64);
    const error = failure(() => writeHostSync(buffer, 0, new Graph().input("x", [2], dtype), data));
    expect(error).toMatchObject({ code: "attr", where: "x", got });
    expect(buffer.readSync(Buffer.alloc(64))).toEqual(Buffer.alloc(64));
  });

  test("are none where they come as they are stored, or as truth", () => {
    const buffer = allocateBuffer(64);
    for (const data of [new Uint8ClampedArray([3, 255]), [true, 255] as never, Float64Array.of(0, 255)])
      expect(() => writeHostSync(buffer, 0, new Graph().input("x", [2], "u8"), data)).not.toThrow();
    expect(buffer.readSync(Buffer.alloc(2))).toEqual(Buffer.from([0, 255]));
  });
});

describe("writeHost", () => {
  test.each(["f32", "f16"] as const)(
    "writes floats in shared memory to %s by one call, without copying them",
    async (dtype) => {
      const { tensor, buffer, calls, floatCalls } = target(dtype);
      const data = numbers(sharedFloats(COUNT + 5)).subarray(5);
      await writeHost(buffer, BASE, tensor, data);
      expect(calls).not.toHaveBeenCalled();
      expect(floatCalls.mock.calls.map(([source, type, at]) => [source.buffer === data.buffer, type, at])).toEqual([
        [true, dtype, BASE],
      ]);
      expect(readHostSync(buffer, BASE, tensor)).toEqual(data.slice());
    },
  );

  test("writes bytes in shared memory by one call, without copying them", async () => {
    const { tensor, buffer, calls } = target("i8");
    const data = new Int8Array(sharedFloats(Math.ceil(COUNT / 4)).buffer, 0, COUNT);
    for (let i = 0; i < COUNT; i++) data[i] = i % 251;
    await writeHost(buffer, BASE, tensor, data);
    expect(calls.mock.calls.map(([source, at]) => [(source as Int8Array).buffer === data.buffer, at])).toEqual([
      [true, BASE],
    ]);
    expect(Buffer.compare(buffer.readSync(Buffer.alloc(COUNT), BASE), Buffer.from(data))).toBe(0);
  });

  test.each(["f32", "f16"] as const)("writes other floats to %s piece by piece, none of them long", async (dtype) => {
    const { tensor, buffer, floatCalls } = target(dtype);
    const data = numbers(new Float32Array(COUNT));
    await writeHost(buffer, BASE, tensor, data);
    const lengths = floatCalls.mock.calls.map(([source]) => source.byteLength);
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(4 * COUNT);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(512 * 1024);
    const last = buffer.readSync(
      dtype === "f32" ? new Float32Array(1) : new Uint16Array(1),
      BASE + (dtype === "f32" ? 4 : 2) * (COUNT - 1),
    );
    // (1,000,002 mod 2001) − 1000 = 503 as float32 or as binary16.
    expect(last[0]).toBe(dtype === "f32" ? 503 : 0x5fdc);
  });

  test("refuses data whose memory was taken away", async () => {
    const { tensor, buffer } = target("f32");
    const data = numbers(new Float32Array(COUNT));
    structuredClone(data.buffer, { transfer: [data.buffer] });
    await expect(writeHost(buffer, BASE, tensor, data)).rejects.toMatchObject({ code: "shape", got: "0" });
  });

  test("goes wrong quietly nowhere: what is taken away while it is sent leaves the rest as it was", async () => {
    const { tensor, buffer } = target("f32");
    const data = numbers(new Float32Array(COUNT));
    const sending = writeHost(buffer, BASE, tensor, data);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    await expect(sending).rejects.toMatchObject({ code: "shape" });
    expect(buffer.readSync(new Float32Array(2), BASE + 4 * (COUNT - 2))).toEqual(Float32Array.of(0, 0));
  });
});

describe("writeCheckedHost", () => {
  test.each(["f32", "f16"] as const)("tells the largest magnitude of all pieces: %s", async (dtype) => {
    const { tensor, buffer } = target(dtype);
    for (const data of [numbers(new Float32Array(COUNT)), numbers(sharedFloats(COUNT))]) {
      expect(await writeCheckedHost(buffer, BASE, tensor, data)).toBe(1000);
      expect(readHostSync(buffer, BASE, tensor)).toEqual(data.slice());
      for (const at of [0, COUNT >> 1, COUNT - 1]) {
        const value = data[at]!;
        data[at] = -Infinity;
        expect(await writeCheckedHost(buffer, BASE, tensor, data)).toBe(Infinity);
        data[at] = Number.NaN;
        expect(await writeCheckedHost(buffer, BASE, tensor, data)).toBeNaN();
        data[at] = value;
      }
    }
  });

  test("refuses what is not looked through on its way", async () => {
    const { tensor, buffer } = target("f32");
    for (const data of [new Float64Array(COUNT), [1], undefined])
      await expect(writeCheckedHost(buffer, BASE, tensor, data as never)).rejects.toMatchObject({ code: "dtype" });
    const whole = target("i8");
    const data = new Float32Array(COUNT);
    await expect(writeCheckedHost(whole.buffer, BASE, whole.tensor, data)).rejects.toMatchObject({ code: "dtype" });
    await expect(writeCheckedHost(buffer, BASE, tensor, data.subarray(1))).rejects.toMatchObject({ code: "shape" });
  });
});

describe("readHost", () => {
  const VALUES = [0, 1, 2, 5, 16, 64];

  test.each(["f32", "f16", "bf16", "i32", "u8", "i8", "f8e4m3"] as const)("reads %s as numbers", async (dtype) => {
    const tensor = new Graph().input("x", [1, 1, 2, 3], dtype);
    const buffer = allocateBuffer(BASE + 64);
    await writeHost(buffer, BASE, tensor, VALUES);
    expect([...(await readHost(buffer, BASE, tensor)).values]).toEqual(VALUES);
    expect([...readHostSync(buffer, BASE, tensor)]).toEqual(VALUES);
  });

  test.each(["f32", "f16", "i8"] as const)("fills an array that is given: %s", async (dtype) => {
    const tensor = new Graph().input("x", [1, 1, 2, 3], dtype);
    const buffer = allocateBuffer(BASE + 64);
    await writeHost(buffer, BASE, tensor, VALUES);
    const into = allocateFloats(8).subarray(1, 7);
    expect((await readHost(buffer, BASE, tensor, into)).values).toBe(into);
    expect([...new Float32Array(into.buffer)]).toEqual([0, ...VALUES, 0]);
    await expect(readHost(buffer, BASE, tensor, into.subarray(1))).rejects.toMatchObject({ code: "shape", got: "5" });
  });

  test.each(["f32", "u8"] as const)("leaves out the gaps of a view of %s", async (dtype) => {
    const whole = new Graph().input("x", [1, 1, 2, 3], dtype);
    const view = { ...whole, dims: [1, 1, 2, 2], pitch: 3 };
    const buffer = allocateBuffer(BASE + 64);
    await writeHost(buffer, BASE, whole, VALUES);
    expect([...(await readHost(buffer, BASE, view)).values]).toEqual([0, 1, 5, 16]);
    expect([...readHostSync(buffer, BASE, view)]).toEqual([0, 1, 5, 16]);
  });
});
