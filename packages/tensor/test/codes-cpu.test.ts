import { allocateBuffer, type Device, openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { makeStorage, packedTensor } from "../src/graph";
import { compile } from "../src/plan/plan";
import type { Tensor } from "../src/tensor";

/** Codes of float8 e4m3 for the numbers from -2 to 2. */
const FLOATS = [0xc0, 0xb8, 0x00, 0x38, 0x40];

interface Product {
  op: "convQ8" | "linearQ8";
  dtype: "i8" | "f8e4m3";
  dims: readonly number[];
  weight: readonly number[];
  padding?: readonly number[];
}

const count = (dims: readonly number[]) => dims.reduce((product, dim) => product * dim, 1);

/** Codes of numbers from -2 to 2, whose sums are exact in float32 too. */
function codesOf(size: number, dtype: Product["dtype"], seed: number): Uint8Array {
  const codes = new Uint8Array(size);
  for (let i = 0, state = seed; i < size; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const number = (state >>> 24) % 5;
    codes[i] = dtype === "i8" ? number - 2 : FLOATS[number]!;
  }
  return codes;
}

function constant(codes: Uint8Array, dims: readonly number[], dtype: Product["dtype"]): Tensor {
  const buffer = allocateBuffer(codes.byteLength);
  buffer.writeSync(codes);
  return packedTensor(makeStorage("weights", codes.byteLength, "weight", { buffer, byteOffset: 0 }), dims, dtype);
}

async function run(device: Device, { op, dtype, dims, weight, padding }: Product) {
  const x = codesOf(count(dims), dtype, 1);
  const weights = constant(codesOf(count(weight), dtype, 2), weight, dtype);
  const plan = await compile(device, (g) => {
    const operands = {
      x: g.input("x", dims, dtype),
      xScale: g.constant(Float32Array.of(0.5), [1, 1, 1, 1]),
      weight: weights,
      weightScale: g.constant(Float32Array.of(0.25), [1, 1]),
    };
    g.output("y", op === "convQ8" ? g.convQ8({ ...operands, padding } as never) : g.linearQ8(operands));
  });
  await plan.write("x", dtype === "i8" ? new Int8Array(x.buffer) : x);
  await plan.run();
  const result = { y: (await plan.read("y")) as Float32Array, isFast: plan.info.fast[0] };
  await plan.free();
  return result;
}

describe("operands of 8 bits that are copied in several strips", () => {
  test.each<[string, Product]>([
    [
      "lines of a frame",
      { op: "convQ8", dtype: "i8", dims: [1, 1, 600, 300, 96], weight: [2, 96, 1, 3, 3], padding: [0, 0, 1, 1, 1, 1] },
    ],
    [
      "lines of a frame of floats",
      {
        ...{ op: "convQ8", dtype: "f8e4m3", dims: [1, 2, 150, 310, 96], weight: [2, 96, 2, 2, 2] },
        padding: [0, 1, 1, 0, 0, 0],
      },
    ],
    [
      "frames of a clip",
      {
        ...{ op: "convQ8", dtype: "i8", dims: [1, 20, 100, 100, 96], weight: [2, 96, 3, 1, 1] },
        padding: [1, 1, 0, 0, 0, 0],
      },
    ],
    ["tokens", { op: "linearQ8", dtype: "i8", dims: [1, 1, 70_000, 256], weight: [2, 256] }],
  ])("%s give the bits of the definition", async (_, product) => {
    const wanted = await run(openDevice("cpu", { reference: true }), product);
    const got = await run(openDevice("cpu", { threads: 2 }), product);
    expect([got.isFast, wanted.isFast]).toEqual([true, false]);
    expect(Buffer.compare(Buffer.from(got.y.buffer), Buffer.from(wanted.y.buffer))).toBe(0);
  });
});
