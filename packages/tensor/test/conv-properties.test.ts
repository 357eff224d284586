import { computeReference, numbers, tooFar } from "@vd/conformance";
import { type Device, openDevice } from "@vd/kernels-native";
import type { Plain } from "@vd/kernels-native/references";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Eager } from "../src/eager";
import type { Tensor } from "../src/tensor";
import { rejection } from "./support/failure";

/** `VD_LONG=1 pnpm vitest run conv-properties` draws many more shapes. */
const RUNS = process.env.VD_LONG === "1" ? 3000 : 60;
const LIMIT = { nmse: 1e-11, worst: 1e-4 };
const ISAS = ["plain", "avx2", "best"] as const;

const devices: Device[] = ISAS.map((isa) => openDevice("cpu", { isa, threads: 2 }));
const eagers = devices.map((device) => new Eager(device));
const [eager] = eagers as [Eager];

type Triple = [frames: number, height: number, width: number];
type Pads = [number, number, number, number, number, number];

/** A convolution that the contract allows. */
interface Drawn {
  x: number[];
  weight: number[];
  past?: number[];
  attrs: {
    stride: Triple;
    padding: Pads;
    groups: number;
    upsample: boolean;
    transposed: boolean;
    framePadding: "zeros" | "replicate";
  };
}

const sizeOf = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1);
const random = (name: string, dims: readonly number[]): Plain => ({
  dims,
  data: Float64Array.from(numbers(name, sizeOf(dims))),
});
const triple = (most: Triple) => fc.tuple(...most.map((max) => fc.integer({ min: 1, max }))) as fc.Arbitrary<Triple>;

/** Kernels of 1 to 3 frames and 1 to 5 pixels, steps of 1 and 2, groups, past frames, either padding. */
const correlations: fc.Arbitrary<Drawn> = fc
  .record({
    clips: fc.integer({ min: 1, max: 2 }),
    kernel: triple([3, 5, 5]),
    stride: triple([2, 2, 2]),
    extra: triple([3, 5, 6]),
    pads: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 6, maxLength: 6 }),
    past: fc.integer({ min: 0, max: 2 }),
    framePadding: fc.constantFrom("zeros" as const, "replicate" as const),
    groups: fc.constantFrom(1, 1, 2, 3, 16),
    channels: fc.constantFrom([1, 1], [3, 2], [4, 4], [8, 5], [17, 9]),
    upsample: fc.boolean(),
  })
  .map(({ clips, kernel, stride, extra, pads, past, framePadding, groups, channels, upsample }) => {
    const [c, k] = channels as [number, number];
    const step = groups === 16 ? [1, 1] : [c, k];
    // A size that the kernel fits into without padding.
    const [f, h, w] = extra.map((size, i) => size + kernel[i]! - 1) as Triple;
    return {
      x: [clips, f, h, w, groups * step[0]!],
      weight: [groups * step[1]!, step[0]!, ...kernel],
      ...(past > 0 ? { past: [clips, past, h, w, groups * step[0]!] } : {}),
      attrs: { stride, padding: pads as Pads, groups, upsample, transposed: false, framePadding },
    };
  });

const transposed: fc.Arbitrary<Drawn> = fc
  .tuple(triple([2, 5, 6]), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }))
  .map(([size, c, k]) => ({
    x: [1, ...size, c],
    weight: [c, k, 1, 4, 4],
    attrs: {
      ...{ stride: [1, 2, 2] as Triple, padding: [0, 0, 1, 1, 1, 1] as Pads, groups: 1, upsample: false },
      ...{ transposed: true, framePadding: "zeros" as const },
    },
  }));

function operandsOf({ x, weight, past }: Drawn): Record<string, Plain> {
  const label = JSON.stringify([x, weight]);
  return {
    x: random(`${label}.x`, x),
    weight: random(`${label}.weight`, weight),
    ...(past ? { past: random(`${label}.past`, past) } : {}),
  };
}

/** The convolution on a device, its weights constant, as a model has them. */
async function convolve(on: Eager, operands: Record<string, Plain>, attrs: Drawn["attrs"]): Promise<Float32Array> {
  const placed = Object.fromEntries(
    Object.entries(operands).map(([name, { data, dims }]) => [name, on.tensor(data, dims, "f32", name === "weight")]),
  ) as Record<"x" | "weight", Tensor>;
  return on.readSync(await on.ops.conv({ ...placed, ...attrs }));
}

async function expectNear(drawn: Drawn): Promise<void> {
  const operands = operandsOf(drawn);
  const { y } = computeReference("conv", operands, drawn.attrs) as { y: Plain };
  for (const on of eagers) {
    const got = await convolve(on, operands, drawn.attrs);
    expect(tooFar(got, y.data, LIMIT)).toBe("");
  }
}

describe("conv is the float64 one", () => {
  test("of every kernel, step, padding and grouping", async () => {
    await fc.assert(fc.asyncProperty(correlations, expectNear), { numRuns: RUNS, seed: 13 });
  });

  test("transposed", async () => {
    await fc.assert(fc.asyncProperty(transposed, expectNear), { numRuns: RUNS / 4, seed: 13 });
  });
});

describe("a clip in chunks has the bits of the whole clip", () => {
  const kinds = [
    { name: "3x3x3", weight: [24, 20, 3, 3, 3], groups: 1, step: 1 },
    { name: "3x3x3 of many channels", weight: [64, 64, 3, 3, 3], groups: 1, step: 1 },
    { name: "3x1x1", weight: [24, 20, 3, 1, 1], groups: 1, step: 1 },
    { name: "3x3x3 from 3", weight: [20, 3, 3, 3, 3], groups: 1, step: 1 },
    { name: "3x3x3 step 2", weight: [24, 20, 3, 3, 3], groups: 1, step: 2 },
    { name: "depthwise", weight: [24, 1, 3, 3, 3], groups: 24, step: 1 },
    { name: "in groups", weight: [24, 10, 3, 3, 3], groups: 2, step: 1 },
  ];

  test.each(kinds)("$name", async ({ weight: dims, groups, step }) => {
    const [channels, spatial] = [dims[1]! * groups, Math.floor(dims[3]! / 2)];
    const x = random("x", [1, 8, 6, 7, channels]);
    const weight = random("weight", dims);
    const sides: [number, number, number, number] = [spatial, spatial, spatial, spatial];
    const shape = { stride: [step, 1, 1] as Triple, groups, upsample: false, transposed: false };
    for (const framePadding of ["zeros", "replicate"] as const)
      for (const on of eagers) {
        const attrs = { ...shape, framePadding, padding: [2, 0, ...sides] as Pads };
        const whole = await convolve(on, { x, weight }, attrs);
        const chunks: Float32Array[] = [];
        for (const [from, to] of [
          [0, 4],
          [4, 6],
          [6, 8],
        ] as const) {
          const part = frames(x, from, to);
          const past = from === 0 ? {} : { past: frames(x, from - 2, from) };
          const padding: Pads = [from === 0 ? 2 : 0, 0, ...sides];
          chunks.push(await convolve(on, { x: part, ...past, weight }, { ...attrs, padding }));
        }
        const joined = Float32Array.from(chunks.flatMap((chunk) => [...chunk]));
        expect(Buffer.compare(Buffer.from(joined.buffer), Buffer.from(whole.slice().buffer))).toBe(0);
      }
  });
});

/** The frames `begin` to `end` of one clip. */
function frames({ dims, data }: Plain, begin: number, end: number): Plain {
  const size = sizeOf(dims.slice(2));
  return { dims: [1, end - begin, ...dims.slice(2)], data: data.slice(begin * size, end * size) };
}

describe("conv refuses", () => {
  const x = (dims = [1, 2, 4, 4, 6]) => eager.tensor(new Float32Array(sizeOf(dims)), dims);
  const message = async (call: Parameters<typeof eager.ops.conv>[0]) => (await rejection(eager.ops.conv(call))).message;

  test("groups that do not divide the channels, and filters for others", async () => {
    const weight = x([4, 3, 1, 1, 1]);
    expect(await message({ name: "c", x: x(), weight })).toBe(
      "[c] [conv] [weight] expected filters for all channels of x, got 3",
    );
    expect(await message({ name: "c", x: x(), weight, groups: 4 })).toContain(
      "[weight] expected filters for all channels",
    );
    expect(await message({ name: "c", x: x(), weight: x([5, 3, 1, 1, 1]), groups: 2 })).toBe(
      "[c] [conv] [groups] expected a divisor of the output channels, got 2",
    );
    expect(await message({ name: "c", x: x(), weight, groups: 0 })).toContain("[groups] expected a whole number");
  });

  test("past frames of another size, and a clip shorter than the kernel", async () => {
    const weight = x([4, 6, 3, 1, 1]);
    expect(await message({ name: "c", x: x(), weight })).toContain("a padded size of at least the kernel's, got 2");
    expect(await message({ name: "c", x: x(), weight, past: x([1, 2, 4, 5, 6]) })).toContain(
      "[c] [conv] [past] expected",
    );
  });

  test("transposed ones of other kernels, steps and paddings", async () => {
    const call = { name: "c", x: x(), weight: x([6, 4, 1, 4, 4]), transposed: true };
    const padding: Pads = [0, 0, 1, 1, 1, 1];
    expect(await message({ ...call, padding })).toContain(
      "[stride] expected steps of 2 in rows where transposed, got 1",
    );
    expect(await message({ ...call, stride: [1, 2, 2] })).toContain("[padding] expected a padding of 0,0,1,1,1,1");
    const rest = { stride: [1, 2, 2] as Triple, padding };
    expect(await message({ ...call, ...rest, upsample: true })).toContain("[upsample] expected false where transposed");
    expect(await message({ ...call, ...rest, weight: x([6, 4, 1, 3, 3]) })).toContain("1x4x4 filters where transposed");
  });

  test("a result in memory that it reads, and writes nothing", async () => {
    const input = eager.tensor(numbers("x", 32), [1, 2, 2, 2, 4]);
    const weight = eager.tensor(numbers("weight", 16), [4, 4, 1, 1, 1]);
    const before = eager.readSync(input).slice();
    expect(await message({ name: "c", x: input, weight, out: input })).toBe(
      "[c] [conv] [y] expected memory that holds no other operand, got that of x",
    );
    const past = eager.zeros([1, 1, 2, 2, 4]);
    expect(await message({ name: "c", x: { ...input, dims: [1, 1, 2, 2, 4] }, past, weight, out: input })).toContain(
      "that of x",
    );
    expect(eager.readSync(input)).toEqual(before);
  });

  test("but adds to a residual in place", async () => {
    const input = eager.tensor(numbers("x", 32), [1, 2, 2, 2, 4]);
    const weight = eager.tensor(numbers("weight", 16), [4, 4, 1, 1, 1]);
    const wanted = eager.readSync(
      await eager.ops.conv({ x: input, weight, residual: eager.tensor(numbers("r", 32), input.dims) }),
    );
    const residual = eager.tensor(numbers("r", 32), input.dims);
    await eager.ops.conv({ x: input, weight, residual, out: residual });
    expect(eager.readSync(residual)).toEqual(wanted);
  });
});
