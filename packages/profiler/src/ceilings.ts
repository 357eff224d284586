import type { Device, DType } from "@vd/kernels-native";
import { DTYPES, listOf, oneOfThese, requireArgument } from "@vd/kernels-native";
import { compile, type Graph, requireDevice } from "@vd/tensor";

/** What a device can do at most: the two sides of the roofline.
 *  Source: https://doi.org/10.1145/1498765.1498785 */
export interface Ceilings {
  /** Memory traffic in bytes per µs: 1000 is 1 GB/s. */
  bytesPerUs: number;
  /** Arithmetic in FLOP per µs, 10⁶ is 1 TFLOP/s, by the type of activations. */
  flopsPerUs: Partial<Record<DType, number>>;
  /** Where the figures come from, for the report. */
  source: string;
}

/** Sizes of the probe: a matrix product that is all arithmetic, and a sum of two tensors too large for any cache. */
interface ProbeSize {
  tokens: number;
  channels: number;
  streamBytes: number;
}

const MIB = 2 ** 20;
/** A few milliseconds of either device. */
const PROBE: Readonly<Record<Device["kind"], ProbeSize>> = {
  cpu: { tokens: 1024, channels: 512, streamBytes: 32 * MIB },
  cuda: { tokens: 16384, channels: 2048, streamBytes: 256 * MIB },
};
const NUM_RUNS = 5;
const STREAM_CHANNELS = 1024;
const FLOAT32_BYTES = 4;

/** The fastest of some runs, in µs of the only row. */
async function bestUs(device: Device, dtype: DType, build: (g: Graph) => void): Promise<{ us: number; flops: number }> {
  const plan = await compile(device, build, { dtype });
  try {
    let us = Number.POSITIVE_INFINITY;
    for (let i = 0; i < NUM_RUNS; i++) us = Math.min(us, (await plan.run({ timing: true })).rowUs[0]!);
    return { us, flops: plan.layout.cost.flops };
  } finally {
    plan.freeSync();
  }
}

/** A product of [S,C] with [C,C]. */
async function matrixRate(device: Device, dtype: DType): Promise<number> {
  const { tokens, channels } = PROBE[device.kind];
  const { us, flops } = await bestUs(device, dtype, (g) => {
    const weight = g.constant(
      Float32Array.from({ length: channels * channels }, (_, i) => ((i % 17) - 8) / 64),
      [channels, channels],
    );
    g.output("y", g.linear({ name: "probe.matrix", x: g.input("x", [1, 1, tokens, channels]), weight }));
  });
  return flops / us;
}

/** y = a + b: two streams in, one out. */
async function streamRate(device: Device): Promise<number> {
  const { streamBytes } = PROBE[device.kind];
  const dims = [1, 1, streamBytes / FLOAT32_BYTES / STREAM_CHANNELS, STREAM_CHANNELS];
  const { us } = await bestUs(device, "f32", (g) =>
    g.output("y", g.pointwise({ name: "probe.stream", a: g.input("a", dims), b: g.input("b", dims) })),
  );
  return (3 * streamBytes) / us;
}

const TYPES = listOf(oneOfThese(Object.keys(DTYPES)));

/**
 * Measures the ceilings of a device: the best of five runs of a large matrix product in each type and of a sum that
 * streams from memory. Takes a fraction of a second.
 *
 * @throws what the device throws; VdError `attr` for what is no device or no list of types
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { measureCeilings } from "@vd/profiler";
 *
 * console.log(await measureCeilings(openDevice("cpu"), ["f32"]));
 * ```
 */
export async function measureCeilings(device: Device, dtypes: readonly DType[]): Promise<Ceilings> {
  requireDevice("measureCeilings", device);
  requireArgument("measureCeilings dtypes", dtypes, TYPES);
  const flopsPerUs: Ceilings["flopsPerUs"] = {};
  for (const dtype of dtypes) flopsPerUs[dtype] = await matrixRate(device, dtype);
  const source = `measured on this machine: the best of ${NUM_RUNS} runs of a matrix product and of a sum of tensors`;
  return { bytesPerUs: await streamRate(device), flopsPerUs, source };
}
