import { countOf, type Device, type DType, VdError } from "@vd/kernels-native";
import { type GraphLayout, heldElements, packedBytes, type Row, type Tensor } from "@vd/tensor";
import { availableBytes } from "@vd/vae-opt";
import type { CountedLayout } from "../stages/generation-stages";
import type { GenerationEstimate, StageEstimate } from "../types";
import { measureRates, runUs } from "./device-rates";

/** Bytes of the weights of layouts, each weight once: stages of different lengths share theirs. */
function bytesOfWeights(layouts: readonly GraphLayout[], bytesOf: (weight: Tensor, row: Row) => number): number {
  const seen = new Map<string, number>();
  for (const { graph } of layouts)
    for (const row of graph.rows)
      for (const input of row.inputs)
        if (input?.storage.kind === "weights") seen.set(`${input.storage.id}:${input.byteOffset}`, bytesOf(input, row));
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

const isEightBits = (dtype: DType) => dtype === "i8" || dtype === "f8e4m3";

/** Returns about what the device packs layouts' weights into: float32, also where they are stored in 16 bits, and codes of 8 bits as they
 *  are. */
export const packedWeightBytes = (...layouts: readonly GraphLayout[]): number =>
  bytesOfWeights(layouts, ({ dims, dtype }) => {
    return (isEightBits(dtype) ? 1 : Float32Array.BYTES_PER_ELEMENT) * countOf(dims);
  });

/** Returns the bytes of layouts' weights as their files have them. */
export const storedWeightBytes = (layouts: readonly GraphLayout[]): number =>
  bytesOfWeights(layouts, ({ dims, dtype }) => packedBytes(dims, dtype));

/** Bytes of layouts' weights on a device: the CPU packs them into float32, a GPU into the activations' type. streamBytes: through how many of
 *  them they pass, if they do not stay there. */
export function weightBytesOn({ kind }: Pick<Device, "kind">, layout: GraphLayout, streamBytes = 0): number {
  if (kind === "cpu") return packedWeightBytes(layout);
  const { dtype } = layout.graph;
  const bytes = bytesOfWeights([layout], (weight, row) => heldElements(row, weight) * packedBytes(weight.dims, dtype));
  return streamBytes > 0 ? Math.min(streamBytes, bytes) : bytes;
}

/** Bytes that a stage needs while it runs. */
const stageBytes = ({ layout, heldBytes = 0 }: CountedLayout): number =>
  layout.memory.peakBytes + heldBytes + packedWeightBytes(layout);

/** The denoiser's stages, whose weights may be streamed. */
export const isDenoiser = (name: string): boolean => name.startsWith("denoise");

/** Returns what a generation will need, from the layouts of its stages and the speed of the device. streamBytes: through how many bytes the
 *  denoiser's weights pass. */
export async function estimate(
  device: Device,
  layouts: readonly CountedLayout[],
  streamBytes = 0,
): Promise<Omit<GenerationEstimate, "warnings">> {
  const rates = await measureRates(
    device,
    layouts.map(({ layout }) => layout),
  );
  const stages: StageEstimate[] = layouts.map(({ name, layout, runs, fewestRuns, heldBytes = 0 }) => ({
    name,
    numRows: layout.cost.numRows,
    peakBytes: layout.memory.peakBytes + heldBytes + weightBytesOn(device, layout, isDenoiser(name) ? streamBytes : 0),
    flops: layout.cost.flops,
    bytes: layout.cost.bytes,
    runs,
    ...(fewestRuns !== undefined && { fewestRuns }),
    estimatedUs: runUs(layout, rates) * runs,
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
  const worst = layouts.reduce((a, b) => (stageBytes(b) > stageBytes(a) ? b : a));
  requireBytes(worst.name, stageBytes(worst), limitBytes);
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
