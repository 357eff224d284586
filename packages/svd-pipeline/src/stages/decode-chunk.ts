import type { Device } from "@vd/kernels-native";
import type { Models } from "../opening/models";
import type { MemoryUse } from "../types";
import { decodeStage, type StageShape } from "./definitions";
import type { StageLayouts } from "./stage";
import { usableBytes } from "./usable-memory";

/** Into how many chunks a clip is cut at most: each costs rows of its own. */
const MOST_CHUNKS = 32;
/** What is left of the memory of a whole decode when it is cut as small as can be: two feature maps of five. */
const LEAST_SHARE = 0.4;

/** Half of the frames, a third and so on, each length once. */
function chunkLengths(numFrames: number): number[] {
  const numChunks = Array.from({ length: Math.min(numFrames, MOST_CHUNKS) - 1 }, (_, i) => i + 2);
  return [...new Set(numChunks.map((count) => Math.ceil(numFrames / count)))];
}

/** How the choice is made. */
export interface DecodeChunkOptions {
  device: Device;
  memory: MemoryUse;
  layouts: StageLayouts;
  signal?: AbortSignal | undefined;
  /** Weights of other stages that stay on the device meanwhile. */
  residentBytes: number;
}

/** The most frames that the decoder's spatial layers may take at a time within the device's memory: the result is the
 *  same, fewer frames take less memory. Undefined for all of them. */
export async function chooseDecodeChunk(
  models: Models,
  shape: StageShape,
  { device, memory, layouts, residentBytes, signal }: DecodeChunkOptions,
): Promise<number | undefined> {
  const budget = (await usableBytes(device, memory)) - (device.kind === "cpu" ? 0 : residentBytes);
  const stageAt = (decodeChunk: number | undefined) => decodeStage(models, { ...shape, decodeChunk });
  const bytesAt = async (decodeChunk: number | undefined) => {
    const { peakBytes, weightBytes } = await layouts.memoryOf(stageAt(decodeChunk), signal);
    return peakBytes + weightBytes;
  };
  const whole = await bytesAt(undefined);
  // Where even the smallest chunks are too much, the device says so itself.
  if (whole <= budget || LEAST_SHARE * whole > budget) return undefined;
  layouts.forget(stageAt(undefined));
  // Shorter chunks take less, so halving finds the first that fits; each look records a stage.
  const lengths = chunkLengths(shape.numFrames);
  let [fits, tooLong] = [lengths.length - 1, -1];
  while (fits - tooLong > 1) {
    const middle = (fits + tooLong) >> 1;
    const isShort = (await bytesAt(lengths[middle])) <= budget;
    layouts.forget(stageAt(lengths[isShort ? fits : middle]));
    if (isShort) fits = middle;
    else tooLong = middle;
  }
  return lengths[fits];
}
