import { usableBytes } from "@vd/vae-opt";
import { rowStagesOf } from "../devices/denoise-rows";
import { callName } from "../stages/call-stages";
import { type ChooseDenoisingOptions, chooseDenoising } from "../stages/choose-denoising";
import { choosePieces } from "../stages/choose-pieces";
import { decodedShape, decodeStage, type StageShape } from "../stages/definitions";
import { type CountedLayout, layoutGeneration, stagesBefore } from "../stages/generation-stages";
import type { StageDefinition } from "../stages/stage";
import type { GenerationContext } from "./context";
import { BESIDE_BYTES, bytesBefore } from "./memory-phases";
import { stageCounts } from "./stage-counts";

/** The stages of the denoiser. */
function denoisingStages(context: GenerationContext, rowsApart: boolean): StageDefinition[] {
  const { models } = context;
  const apart = { ...context, shape: { ...context.shape, rowsApart } };
  if (context.team && context.shape.rows === 2) return rowStagesOf(apart, 0).slice(0, 1);
  return stagesBefore(models, apart.shape, stageCounts(apart))
    .map(([stage]) => stage)
    .filter(({ name }) => name.startsWith(callName("full")));
}

/** What the choice of a way to denoise looks at. */
export const denoisingChoice = (context: GenerationContext): ChooseDenoisingOptions => ({
  stagesOf: (rowsApart) => denoisingStages(context, rowsApart),
  layouts: context.layouts,
  signal: context.options.signal,
});

/** Decides whether the rows of guidance are denoised together, and whether weights stay on the device meanwhile. */
export async function settleDenoising(context: GenerationContext): Promise<void> {
  const { shape, device, checked, denoiser, team } = context;
  if (denoiser?.kind === "elsewhere") return;
  const own = denoiser?.device ?? device;
  // The CPU reads weights in place, and shares its memory with everything else: it takes less only where that is asked for.
  const chosen =
    own.kind === "cpu"
      ? { rowsApart: checked.memory === "lowest" && shape.rows === 2 && !team, streamBytes: 0 }
      : await chooseDenoising(
          { rows: team ? 1 : shape.rows },
          await usableBytes(own, checked.memory),
          denoisingChoice(context),
        );
  context.shape = { ...shape, rowsApart: chosen.rowsApart };
  context.streamBytes = chosen.streamBytes;
}

/** Bytes of a device that are not for decoding: weights of the stages before, and what lies beside weights, where those stay. */
async function bytesBesideDecoding(context: GenerationContext): Promise<number> {
  const { device, checked } = context;
  if (checked.memory !== "full" || device.kind === "cpu") return 0;
  return (await bytesBefore(context)).stays + BESIDE_BYTES;
}

/** How frames are decoded: how many at a time or in which tiles, and whether a device lets go of other weights for that. */
type DecodeWay = Pick<StageShape, "decodeChunk" | "decodeTiles"> & { alone: boolean };

/** The way of decoding that fits one device, where the caller leaves it open. moreBytes: of memory than it has. */
async function decodeWay(context: GenerationContext, moreBytes = 0): Promise<DecodeWay | undefined> {
  const { models, shape, device, layouts, checked } = context;
  if (checked.decodeChunk !== undefined || checked.outputType === "latent") return undefined;
  if (device.kind === "cpu" && checked.memory === "lowest") return { decodeChunk: 1, alone: false };
  const besideBytes = await bytesBesideDecoding(context);
  const options = { device, layouts, memory: checked.memory, signal: context.options.signal };
  const choose = (bytes: number) =>
    choosePieces(models, decodedShape(shape), { ...options, residentBytes: bytes - moreBytes });
  const kept = await choose(besideBytes);
  // Rather than to decode in tiles a device lets go of the weights of the stages before.
  const alone = kept.tiles !== undefined && besideBytes > 0;
  const { chunkFrames, tiles } = alone ? await choose(BESIDE_BYTES) : kept;
  return { decodeChunk: chunkFrames, decodeTiles: tiles, alone };
}

/** Decides how many frames one device decodes at a time, or in which tiles, where the caller leaves it open. */
export async function settlePieces(context: GenerationContext): Promise<void> {
  const way = await decodeWay(context);
  if (!way) return;
  const { alone, ...pieces } = way;
  context.decodesAlone = alone;
  context.shape = { ...context.shape, ...pieces };
}

/** Returns whether frames are decoded in the same pieces with the decoder's transforms as they would be with their memory left free. */
export async function decodesBesideTransforms(context: GenerationContext): Promise<boolean> {
  const { models, shape, layouts, options } = context;
  const { transformedBytes } = await layouts.memoryOf(decodeStage(models, decodedShape(shape)), options.signal);
  const [now, without] = [await decodeWay(context), await decodeWay(context, transformedBytes)];
  return JSON.stringify(now) === JSON.stringify(without);
}

/**
 * Lays out all stages of a generation, and decides how its frames are decoded where the caller leaves it open.
 *
 * @throws VdError from the ops' checks, `cancelled` once the signal has fired
 */
export async function layoutStages(context: GenerationContext): Promise<CountedLayout[]> {
  await settleDenoising(context);
  await settlePieces(context);
  return layoutGeneration(context.models, context.shape, stageCounts(context), context.options.signal);
}
