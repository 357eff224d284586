import type { Device } from "@vd/kernels-native";
import { compile, type GraphLayout, NUM_GROUPS, type Plan, quantize, quantizeWeight } from "@vd/tensor";

/** How fast a device is: arithmetic that finds its operands in a cache, and traffic of what does not fit in one. */
export interface DeviceRates {
  flopsPerUs: number;
  bytesPerUs: number;
  /** Arithmetic of layers in 8 bits. */
  eightBitFlopsPerUs: number;
}

/** Size of the probe: a 3×3 convolution and a norm of 4 MiB that take a few milliseconds. */
const PROBE = { frames: 4, size: 64, channels: 64 };

function probe(device: Device): Promise<Plan> {
  const { frames, size, channels } = PROBE;
  return compile(device, (g) => {
    const x = g.input("x", [1, frames, size, size, channels]);
    const weight = g.constant(new Float32Array(channels * channels * 9).fill(0.01), [channels, channels, 1, 3, 3]);
    const scale = g.constant(new Float32Array(channels).fill(1), [channels]);
    const y = g.conv({ name: "probe.conv", x, weight, padding: [0, 0, 1, 1, 1, 1] });
    g.output("y", g.groupNorm({ name: "probe.norm", x: y, weight: scale, bias: scale, groups: NUM_GROUPS, eps: 1e-5 }));
  });
}

async function measurePlainRates(device: Device): Promise<Omit<DeviceRates, "eightBitFlopsPerUs">> {
  const { frames, size, channels } = PROBE;
  const plan = await probe(device);
  try {
    const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let i = 0; i < 3; i++) {
      const { rowUs } = await plan.run({ timing: true });
      best.forEach((us, row) => {
        best[row] = Math.min(us, rowUs[row]!);
      });
    }
    const normBytes = 2 * 4 * frames * size * size * channels;
    return { flopsPerUs: plan.layout.graph.rows[0]!.flops / best[0]!, bytesPerUs: normBytes / best[1]! };
  } finally {
    plan.freeSync();
  }
}

/** Size of the probe of 8 bits: tokens, and their channels before and behind a linear layer. */
const EIGHT_BIT_PROBE = { numTokens: 256, channels: 128 };

/** Measures arithmetic in 8 bits, in FLOP a µs: the best of three runs of a linear layer. */
async function measureEightBitRate(device: Device): Promise<number> {
  const { numTokens, channels } = EIGHT_BIT_PROBE;
  const plan = await compile(device, (g) => {
    const x = g.input("x", [1, 1, numTokens, channels]);
    const weight = g.constant(new Float32Array(channels * channels).fill(0.01), [channels, channels]);
    const { codes: tokens, scales } = quantize(g, x, { dtype: "i8", name: "probe.quantize" });
    const out = g.empty([1, 1, numTokens, channels]);
    const weights = quantizeWeight(weight, { dtype: "i8" });
    g.output("y", g.linearQ8({ name: "probe.linear", x: tokens, xScale: scales, ...weights, out }));
  });
  try {
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 3; i++) best = Math.min(best, (await plan.run({ timing: true })).rowUs[1]!);
    return plan.layout.graph.rows[1]!.flops / best;
  } finally {
    plan.freeSync();
  }
}

/** Arithmetic of a layout's layers in 8 bits, of one run. */
const eightBitFlops = ({ graph }: GraphLayout): number =>
  graph.rows.reduce((sum, { op, flops }) => sum + (op.endsWith("_q8") ? flops : 0), 0);

/** Measures a device: the best of three runs of a convolution, of a norm, which is all traffic, and, where one of `layouts` has such layers, of
 *  one in 8 bits. */
export async function measureRates(device: Device, layouts: readonly GraphLayout[]): Promise<DeviceRates> {
  const plain = await measurePlainRates(device);
  const isNeeded = layouts.some((layout) => eightBitFlops(layout) > 0);
  return { ...plain, eightBitFlopsPerUs: isNeeded ? await measureEightBitRate(device) : plain.flopsPerUs };
}

/** Returns about how long a layout's run takes, in µs. */
export function runUs(layout: GraphLayout, { flopsPerUs, bytesPerUs, eightBitFlopsPerUs }: DeviceRates): number {
  const { flops, bytes } = layout.cost;
  const inEight = eightBitFlops(layout);
  return (flops - inEight) / flopsPerUs + inEight / eightBitFlopsPerUs + bytes / bytesPerUs;
}
