import type { StageShape } from "./definitions";
import type { StageDefinition, StageLayouts } from "./stage";
import { fastestStream } from "./stream-timeline";

/** How the denoiser uses a device's memory. The results are the same. */
export interface DenoisePieces {
  /** Rows of guidance are computed one after the other. */
  rowsApart: boolean;
  /** Bytes of the device's memory through which weights pass; 0 where they stay on it. */
  streamBytes: number;
}

const MEBIBYTE = 2 ** 20;
/** The more, the further ahead of its use a weight is copied, but the longer the first rows wait for theirs; the least holds the largest
 *  weights of the models here twice. */
const STREAM_BYTES = [1280 * MEBIBYTE, 1024 * MEBIBYTE, 768 * MEBIBYTE, 256 * MEBIBYTE] as const;
/** What kernels may take to work with: planners leave out those that need more. */
export const KERNEL_BYTES = 256 * MEBIBYTE;

/** Returns the ways to denoise, each with less memory than the one before; the faster, the earlier. */
export function waysToDenoise({ rows }: Pick<StageShape, "rows">): DenoisePieces[] {
  const rowsApart = rows === 2;
  const streamed = STREAM_BYTES.map((streamBytes) => ({ rowsApart, streamBytes }));
  return [{ rowsApart: false, streamBytes: 0 }, ...(rowsApart ? [{ rowsApart, streamBytes: 0 }] : []), ...streamed];
}

/** Returns the next way behind `pieces`; undefined behind the last. */
export function nextWayToDenoise(shape: Pick<StageShape, "rows">, pieces: DenoisePieces): DenoisePieces | undefined {
  const ways = waysToDenoise(shape);
  const here = ways.findIndex((way) => way.rowsApart === pieces.rowsApart && way.streamBytes === pieces.streamBytes);
  return ways[here + 1];
}

/** Returns what a way means, as a part of a sentence. */
export function describeDenoising({ rowsApart, streamBytes }: DenoisePieces): string {
  const rows = rowsApart ? "guidance row by row" : "in one go";
  return streamBytes > 0 ? `${rows}, with weights streamed through ${streamBytes / MEBIBYTE} MiB` : rows;
}

/** How the choice is made. */
export interface ChooseDenoisingOptions {
  /** The denoiser's stages, rows apart or not. */
  stagesOf(rowsApart: boolean): readonly StageDefinition[];
  layouts: StageLayouts;
  signal?: AbortSignal | undefined;
}

/** Returns the bytes that a way to denoise takes of the device: activations, weights, and what kernels may work with. */
export async function denoiseBytes(
  { rowsApart, streamBytes }: DenoisePieces,
  { stagesOf, layouts, signal }: ChooseDenoisingOptions,
): Promise<number> {
  let [own, weights] = [0, 0];
  for (const stage of stagesOf(rowsApart)) {
    const { peakBytes, weightBytes } = await layouts.memoryOf(stage, signal);
    [own, weights] = [Math.max(own, peakBytes), Math.max(weights, weightBytes)];
  }
  return own + (streamBytes > 0 ? Math.min(weights, streamBytes) : weights) + KERNEL_BYTES;
}

/** Returns the one of some streamed ways that takes the least time. */
async function fastestOf(
  ways: readonly DenoisePieces[],
  { stagesOf, layouts, signal }: ChooseDenoisingOptions,
): Promise<DenoisePieces> {
  const { graph } = await layouts.inSlices(stagesOf(ways[0]!.rowsApart)[0]!, signal);
  const fastest = fastestStream(
    graph.rows,
    ways.map(({ streamBytes }) => streamBytes),
  );
  return ways.find(({ streamBytes }) => streamBytes === fastest)!;
}

/** Returns the fastest way that takes at most `budgetBytes`, or the one that takes least where none does; the device then says so itself. */
export async function chooseDenoising(
  shape: Pick<StageShape, "rows">,
  budgetBytes: number,
  options: ChooseDenoisingOptions,
): Promise<DenoisePieces> {
  const ways = waysToDenoise(shape);
  let chosen = ways[0]!;
  for (const way of ways) {
    chosen = way;
    if ((await denoiseBytes(way, options)) <= budgetBytes) break;
  }
  if (chosen.streamBytes > 0) chosen = await fastestOf(ways.slice(ways.indexOf(chosen)), options);
  for (const rowsApart of [false, true])
    if (rowsApart !== chosen.rowsApart) for (const stage of options.stagesOf(rowsApart)) options.layouts.forget(stage);
  return chosen;
}
