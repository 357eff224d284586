import { stepsOnDevice } from "../denoising/chosen-sampling";
import { type StageCounts, stagesBefore } from "../stages/generation-stages";
import type { StageDefinition } from "../stages/stage";
import { countedCalls } from "./calls";
import type { GenerationContext } from "./context";
import { callsPerStepOf } from "./steering/clips-of";

/** Returns what decides the stages of a generation besides its shape. */
export function stageCounts(context: GenerationContext): StageCounts {
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

/** Returns the stages of a generation before decoding. */
export const generationStagesBefore = (context: GenerationContext): StageDefinition[] =>
  stagesBefore(context.models, context.shape, stageCounts(context)).map(([stage]) => stage);
