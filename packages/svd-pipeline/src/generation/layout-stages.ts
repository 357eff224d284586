import { stepsOnDevice } from "../denoising/chosen-sampling";
import { choosePieces } from "../stages/choose-pieces";
import { decodedShape } from "../stages/definitions";
import { type CountedLayout, layoutGeneration, type StageCounts, stagesBefore } from "../stages/generation-stages";
import { countedCalls } from "./calls";
import type { GenerationContext } from "./context";
import { callsPerStepOf } from "./steering/clips-of";

/** What decides the stages of a generation besides its shape. */
function stageCounts(context: GenerationContext): StageCounts {
  const { components, checked, sampling, layouts } = context;
  return {
    clipSize: components.clipPixels.size,
    numModelCalls: callsPerStepOf(context) * sampling.sampler.numModelCalls,
    stepNeeds: stepsOnDevice(context),
    calls: countedCalls(context),
    decodes: checked.outputType === "video",
    clipFrames: checked.isolateDecodeChunks ? checked.decodeChunk : undefined,
    layouts,
  };
}

/** Weights of the stages before decoding, which stay on the device unless its memory is short. */
async function weightsBefore(context: GenerationContext): Promise<number> {
  const { models, shape, checked, layouts, options } = context;
  if (checked.memory === "low") return 0;
  let sum = 0;
  for (const [stage] of stagesBefore(models, shape, stageCounts(context)))
    sum += (await layouts.inSlices(stage, options.signal)).memory.weightBytes;
  return sum;
}

/** Decides how many frames one device decodes at a time, or in which tiles, where the caller leaves it open. */
export async function settlePieces(context: GenerationContext): Promise<void> {
  const { models, shape, device, layouts, checked } = context;
  if (checked.decodeChunk !== undefined || checked.outputType === "latent") return;
  const residentBytes = await weightsBefore(context);
  const options = { device, layouts, memory: checked.memory, residentBytes, signal: context.options.signal };
  const { chunkFrames, tiles } = await choosePieces(models, decodedShape(shape), options);
  context.shape = { ...shape, decodeChunk: chunkFrames, decodeTiles: tiles };
}

/**
 * Lays out all stages of a generation, and decides how its frames are decoded where the caller leaves it open.
 *
 * @throws VdError from the ops' checks, `cancelled` once the signal has fired
 */
export async function layoutStages(context: GenerationContext): Promise<CountedLayout[]> {
  await settlePieces(context);
  return layoutGeneration(context.models, context.shape, stageCounts(context), context.options.signal);
}
