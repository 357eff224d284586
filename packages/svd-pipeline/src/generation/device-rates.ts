import type { Device } from "@vd/kernels-native";
import {
  compile,
  type GraphLayout,
  NUM_GROUPS,
  type Plan,
  type QuantizedType,
  quantize,
  quantizeWeight,
} from "@vd/tensor";

/** How fast a device is: arithmetic that finds its operands in a cache, and traffic of what does not fit in one. */
export interface DeviceRates {
  flopsPerUs: number;
  bytesPerUs: number;
  /** Arithmetic of layers in 8 bits, of each type that was measured. */
  eightBitFlopsPerUs: Partial<Record<QuantizedType, number>>;
}

/** Types of the codes of layers in 8 bits. */
const CODE_TYPES: readonly QuantizedType[] = ["i8", "f8e4m3"];

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

/** Measures arithmetic on codes of a type, in FLOP a µs: the best of three runs of a linear layer. */
async function measureEightBitRate(device: Device, dtype: QuantizedType): Promise<number> {
  const { numTokens, channels } = EIGHT_BIT_PROBE;
  const plan = await compile(device, (g) => {
    const x = g.input("x", [1, 1, numTokens, channels]);
    const weight = g.constant(new Float32Array(channels * channels).fill(0.01), [channels, channels]);
    const { codes: tokens, scales } = quantize(g, x, { dtype, name: "probe.quantize" });
    const out = g.empty([1, 1, numTokens, channels]);
    const weights = quantizeWeight(weight, { dtype });
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

/** Arithmetic of a layout's layers on codes of a type, of one run. */
const eightBitFlops = ({ graph }: GraphLayout, dtype: QuantizedType): number =>
  graph.rows
    .filter(({ op, inputs }) => op.endsWith("_q8") && inputs[0]!.dtype === dtype)
    .reduce((sum, { flops }) => sum + flops, 0);

/** Measures a device: the best of three runs of a convolution, of a norm, which is all traffic, and of a layer of each type of 8 bits that
 *  `layouts` have. */
export async function measureRates(device: Device, layouts: readonly GraphLayout[]): Promise<DeviceRates> {
  const rates: DeviceRates = { ...(await measurePlainRates(device)), eightBitFlopsPerUs: {} };
  for (const dtype of CODE_TYPES)
    if (layouts.some((layout) => eightBitFlops(layout, dtype) > 0))
      rates.eightBitFlopsPerUs[dtype] = await measureEightBitRate(device, dtype);
  return rates;
}

/** Returns about how long a layout's run takes, in µs. */
export function runUs(layout: GraphLayout, { flopsPerUs, bytesPerUs, eightBitFlopsPerUs }: DeviceRates): number {
  let { flops } = layout.cost;
  let us = layout.cost.bytes / bytesPerUs;
  for (const dtype of CODE_TYPES) {
    const inEight = eightBitFlops(layout, dtype);
    flops -= inEight;
    us += inEight / (eightBitFlopsPerUs[dtype] ?? flopsPerUs);
  }
  return us + flops / flopsPerUs;
}
