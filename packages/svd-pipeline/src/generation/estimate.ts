import { countOf, type Device, VdError } from "@vd/kernels-native";
import { compile, type GraphLayout, NUM_GROUPS, type Plan, packedBytes, type Tensor } from "@vd/tensor";
import { availableBytes } from "@vd/vae-opt";
import type { CountedLayout } from "../stages/generation-stages";
import type { GenerationEstimate, StageEstimate } from "../types";

/** How fast a device is: arithmetic that finds its operands in a cache, and traffic of what does not fit in one. */
export interface DeviceRates {
  flopsPerUs: number;
  bytesPerUs: number;
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

/** Measures a device: the best of three runs of a convolution and of a norm, which is all traffic. */
export async function measureRates(device: Device): Promise<DeviceRates> {
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

/** Bytes of the weights of layouts, each weight once: stages of different lengths share theirs. */
function bytesOfWeights(layouts: readonly GraphLayout[], bytesOf: (weight: Tensor) => number): number {
  const seen = new Map<string, number>();
  for (const { graph } of layouts)
    for (const input of graph.rows.flatMap((row) => row.inputs))
      if (input?.storage.kind === "weights") seen.set(`${input.storage.id}:${input.byteOffset}`, bytesOf(input));
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Returns the bytes of layouts' weights as float32, also where they are stored in 16 bits: about what the device packs them into. */
export const packedWeightBytes = (...layouts: readonly GraphLayout[]): number =>
  bytesOfWeights(layouts, ({ dims }) => Float32Array.BYTES_PER_ELEMENT * countOf(dims));

/** Returns the bytes of layouts' weights as their files have them. */
export const storedWeightBytes = (layouts: readonly GraphLayout[]): number =>
  bytesOfWeights(layouts, ({ dims, dtype }) => packedBytes(dims, dtype));

/** Bytes of layouts' weights on a device: the CPU packs them into float32, a GPU into the activations' type. streamBytes: through how many of
 *  them they pass, if they do not stay there. */
export function weightBytesOn({ kind }: Pick<Device, "kind">, layout: GraphLayout, streamBytes = 0): number {
  if (kind === "cpu") return packedWeightBytes(layout);
  const bytes = bytesOfWeights([layout], ({ dims }) => packedBytes(dims, layout.graph.dtype));
  return streamBytes > 0 ? Math.min(streamBytes, bytes) : bytes;
}

/** Bytes that a stage needs while it runs. */
const stageBytes = (layout: GraphLayout): number => layout.memory.peakBytes + packedWeightBytes(layout);

/** The denoiser's stages, whose weights may be streamed. */
const isDenoiser = (name: string): boolean => name.startsWith("denoise");

/** Returns what a generation will need, from the layouts of its stages and the speed of the device. streamBytes: through how many bytes the
 *  denoiser's weights pass. */
export async function estimate(
  device: Device,
  layouts: readonly CountedLayout[],
  streamBytes = 0,
): Promise<Omit<GenerationEstimate, "warnings">> {
  const { flopsPerUs, bytesPerUs } = await measureRates(device);
  const stages: StageEstimate[] = layouts.map(({ name, layout, runs, fewestRuns }) => ({
    name,
    numRows: layout.cost.numRows,
    peakBytes: layout.memory.peakBytes + weightBytesOn(device, layout, isDenoiser(name) ? streamBytes : 0),
    flops: layout.cost.flops,
    bytes: layout.cost.bytes,
    runs,
    ...(fewestRuns !== undefined && { fewestRuns }),
    estimatedUs: (layout.cost.flops / flopsPerUs + layout.cost.bytes / bytesPerUs) * runs,
  }));
  const sum = (pick: (stage: StageEstimate) => number) => stages.reduce((total, stage) => total + pick(stage), 0);
  return {
    stages,
    weightBytes: storedWeightBytes(layouts.map(({ layout }) => layout)),
    peakBytes: Math.max(...stages.map((stage) => stage.peakBytes)),
    flops: sum((stage) => stage.flops * stage.runs),
    estimatedUs: sum((stage) => stage.estimatedUs),
  };
}

const inGibibytes = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/**
 * Refuses what cannot fit into `limitBytes` before any work begins: the operating system would promise the memory and
 * end the process later.
 *
 * @throws VdError `memory` naming the stage
 */
export function checkMemory(layouts: readonly CountedLayout[], limitBytes = availableBytes()): void {
  const worst = layouts.reduce((a, b) => (stageBytes(b.layout) > stageBytes(a.layout) ? b : a));
  requireBytes(worst.name, stageBytes(worst.layout), limitBytes);
}

/**
 * Refuses a stage that does not fit into `limitBytes`.
 *
 * @throws VdError `memory` naming the stage
 */
export function requireBytes(stage: string, bytes: number, limitBytes: number): void {
  if (bytes <= limitBytes) return;
  const decodes = stage === "decode";
  throw new VdError({
    code: "memory",
    where: "generate",
    expected: `a video that fits into the ${inGibibytes(limitBytes)} of this machine`,
    got: `${inGibibytes(bytes)} for the stage "${stage}"`,
    hint: `Use ${decodes ? "a smaller decodeChunk, " : ""}fewer frames or a smaller size.`,
  });
}

/**
 * Refuses results that together do not fit into `limitBytes`, before any of them is made.
 *
 * @throws VdError `memory`
 */
export function checkResultBytes(bytes: number, limitBytes = availableBytes()): void {
  if (bytes <= limitBytes) return;
  throw new VdError({
    code: "memory",
    where: "generateBatch",
    expected: `videos that fit into the ${inGibibytes(limitBytes)} of this machine`,
    got: `${inGibibytes(bytes)} for all of them`,
    hint: "Generate fewer by one call.",
  });
}
