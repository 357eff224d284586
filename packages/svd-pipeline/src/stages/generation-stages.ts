import { COUNT, requireFields, requireOptions } from "@vd/kernels-native";
import { frameChunks, type GraphLayout } from "@vd/tensor";
import { tileStages } from "@vd/vae-opt";
import type { Models } from "../opening/models";
import {
  conditionStage,
  decodedShape,
  decodeShape,
  decodeStage,
  denoisedShape,
  denoiseStage,
  embedImageStage,
  encodeImageStage,
  requireShape,
  type StageShape,
  type StepNeeds,
  sampleStage,
  startStage,
} from "./definitions";
import type { StageDefinition, StageLayouts } from "./stage";

/** The layout of a stage, how often it runs, and how to name it. */
export interface CountedLayout {
  name: string;
  layout: GraphLayout;
  /** At most, where it is decided while they run. */
  runs: number;
  /** Where that can be less than `runs`. */
  fewestRuns?: number | undefined;
  /** Bytes that are taken of the device beside the stage while it runs. */
  heldBytes?: number | undefined;
}

/** A stage, how often it runs, at most and at least, and what is taken of the device beside it. */
type CountedStage = readonly [stage: StageDefinition, runs: number, fewestRuns?: number, heldBytes?: number];

/** The stage of one kind of calls, and how often it runs. */
export interface CountedCall {
  stage: StageDefinition;
  runs: number;
  fewestRuns: number;
}

/** What decides the stages of a generation besides its shape. */
export interface StageCounts {
  /** Side of the image encoder's picture. */
  clipSize: number;
  /** Calls of the denoiser. */
  numModelCalls: number;
  /** Of a sampler that steps on the device; undefined for one that steps on the host. */
  stepNeeds?: StepNeeds | undefined;
  /** Stages of calls that are not all made in full, and how often each runs at most and at least. */
  calls?: readonly CountedCall[] | undefined;
  /** False where the latents are the result. */
  decodes?: boolean;
  /** Frames of each clip that is decoded on its own; undefined for one clip. */
  clipFrames: number | undefined;
  /** Where to keep the layouts. */
  layouts: StageLayouts;
}

/** Decoding as one clip, whole or in tiles, or, in isolated chunks, as clips of one length and perhaps a shorter one. */
function decodeStages(models: Models, shape: StageShape, clipFrames: number): CountedStage[] {
  if (shape.decodeTiles) {
    const stages = tileStages(models.vae, decodeShape(shape, shape.numFrames), shape.decodeTiles);
    return stages.map(({ stage, runs, heldBytes }) => [stage, runs, runs, heldBytes]);
  }
  const lengths = frameChunks(shape.numFrames, clipFrames).map(([begin, end]) => end - begin);
  return [...new Set(lengths)].map((length) => [
    decodeStage(models, shape, length),
    lengths.filter((each) => each === length).length,
  ]);
}

/** The denoiser with the sampler's step, or without for a sampler that steps on the host. */
export function denoisingStage(models: Models, shape: StageShape, needs: StepNeeds | undefined): StageDefinition {
  return needs ? sampleStage(models, shape, needs) : denoiseStage(models, shape);
}

/** What comes before the denoiser's first call where the sampler steps on the device. */
function startStages(models: Models, shape: StageShape, needs: StepNeeds | undefined): [StageDefinition, number][] {
  return needs ? [[startStage(models, shape), 1]] : [];
}

/** The stages before decoding, and how often each runs. */
export function stagesBefore(
  models: Models,
  whole: StageShape,
  counts: Pick<StageCounts, "clipSize" | "numModelCalls" | "stepNeeds" | "calls">,
): [stage: StageDefinition, runs: number, fewestRuns?: number][] {
  requireOptions("stagesBefore models", models);
  requireShape("stagesBefore shape", whole);
  requireFields("stagesBefore counts", counts, { clipSize: COUNT });
  const { clipSize, numModelCalls, stepNeeds, calls } = counts;
  const shape = denoisedShape(whole);
  const denoising: [StageDefinition, number, number?][] = calls?.map(({ stage, runs, fewestRuns }) => [
    stage,
    runs,
    fewestRuns,
  ]) ?? [...startStages(models, shape, stepNeeds), [denoisingStage(models, shape, stepNeeds), numModelCalls]];
  return [
    [embedImageStage(models, clipSize, shape.dtype), 1],
    [encodeImageStage(models, shape), 1],
    [conditionStage(models, shape), 1],
    ...denoising,
  ];
}

/**
 * Lays out all stages of a generation in their order; nothing is allocated. The event loop turns meanwhile.
 *
 * @throws VdError from the ops' checks, `cancelled` when the signal aborts
 */
export async function layoutGeneration(
  models: Models,
  shape: StageShape,
  counts: StageCounts,
  signal?: AbortSignal,
): Promise<CountedLayout[]> {
  const decoded = decodedShape(shape);
  const stages: CountedStage[] = [
    ...stagesBefore(models, shape, counts),
    ...(counts.decodes === false ? [] : decodeStages(models, decoded, counts.clipFrames ?? decoded.numFrames)),
  ];
  const layouts: CountedLayout[] = [];
  for (const [stage, runs, fewestRuns = runs, heldBytes] of stages) {
    const layout = await counts.layouts.inSlices(stage, signal);
    layouts.push({ name: stage.name, layout, runs, ...(fewestRuns < runs && { fewestRuns }), heldBytes });
  }
  return layouts;
}
