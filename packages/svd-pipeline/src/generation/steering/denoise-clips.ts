import { cast } from "@vd/sampling";
import { planesToPixels } from "@vd/tensor";
import { denoise } from "../../denoising/denoise";
import { HostStepper, type Predict } from "../../denoising/host-stepper";
import { type GenerationRun, latentDims } from "../context";
import { stepOptions } from "../denoise-latents";
import type { EncodedPicture } from "../encode-picture";
import { type ClipModel, withClipModel } from "./clip-models";
import { fromBothEnds, knowingFrames } from "./known-frames";
import { type Clip, planClips, planInterpolation } from "./timeline";

/** What is known of a video before it is denoised. */
export interface GivenFrames {
  /** What the models make of the picture. */
  picture: EncodedPicture;
  /** The clean latents of the frames before the picture and of the picture itself, [C,h,w] each, as decoding takes them; empty where the
   *  video begins with the picture. */
  past: readonly Float32Array[];
  /** What the models make of the last frame, and its clean latents. */
  last?: { picture: EncodedPicture; latents: Float32Array } | undefined;
}

/** A video that is being denoised clip by clip. */
interface Timeline {
  /** Clean latents by position, [C,h,w]; undefined for frames that are still to be made. */
  frames: (Float32Array | undefined)[];
  /** Noise of each position at the first noise level, [C,h,w]. */
  noise: Float32Array[];
  /** The pictures that the models have looked at, by position. */
  pictures: Map<number, EncodedPicture>;
  /** CLIP's embedding for clips that begin with another frame: that of the picture. */
  embedding: Float32Array;
}

/** A run that sees one clip. */
function clipRun(run: GenerationRun, numFrames: number): GenerationRun {
  const { context, progress, loader, noise } = run;
  const { shape, checked } = context;
  return {
    ...{ progress, loader, noise },
    context: { ...context, shape: { ...shape, numFrames }, checked: { ...checked, numFrames } },
  };
}

/** Views of the frames of latents [F,C,h,w]. */
function framesOf(latents: Float32Array, numFrames: number): Float32Array[] {
  const length = latents.length / numFrames;
  return Array.from({ length: numFrames }, (_, i) => latents.subarray(i * length, (i + 1) * length));
}

function joinFrames(frames: readonly Float32Array[]): Float32Array {
  const length = frames[0]!.length;
  const joined = new Float32Array(frames.length * length);
  frames.forEach((frame, i) => void joined.set(frame, i * length));
  return joined;
}

/** The clips of a generation. */
export function clipsOf({ context }: Pick<GenerationRun, "context">): Clip[] {
  const { checked, options, shape } = context;
  return planClips({
    numPast: options.pastFrames?.length ?? 0,
    numFrames: shape.numFrames,
    clipFrames: shape.clipFrames!,
    overlap: checked.overlap,
    isLoop: checked.loop,
    hasLast: options.lastImage !== undefined,
  });
}

/**
 * Denoises a video clip by clip: each clip knows the last frames of the one before, and goes on from them. first: noise at the first
 * noise level, [F,C,h,w]. Returns the clean latents from the picture on, [F,C,h,w].
 */
export async function denoiseClips(
  run: GenerationRun,
  first: Float32Array,
  given: GivenFrames,
): Promise<Float32Array> {
  const { context, noise } = run;
  const { numFrames, clipFrames } = context.shape;
  const numPast = Math.max(0, given.past.length - 1);
  const inClip = clipRun(run, clipFrames!);
  const drawn = await noise.scaledFrames(numPast);
  const timeline: Timeline = {
    frames: Array.from({ length: numPast + numFrames }, (_, i) => given.past[i]),
    noise: [...framesOf(drawn, numPast), ...framesOf(first, numFrames)],
    pictures: new Map([[numPast, given.picture]]),
    embedding: given.picture.embedding,
  };
  const { last } = given;
  if (last) {
    timeline.frames[numPast + numFrames - 1] = last.latents;
    timeline.pictures.set(numPast + numFrames - 1, last.picture);
  }
  const clips = clipsOf(run);
  const embeddings = [...timeline.pictures.values()].map(({ embedding }) => embedding);
  await withClipModel(inClip, embeddings, async (model) => {
    for (const [index, clip] of clips.entries()) await denoiseClip(inClip, model, { timeline, clip, index, count: clips.length });
  });
  return joinFrames(timeline.frames.slice(numPast) as Float32Array[]);
}

/** How often the denoiser is called for one call of the sampler in each clip, all clips together. */
export function callsPerStepOf(context: GenerationRun["context"]): number {
  if (context.shape.clipFrames === undefined) return 1;
  return clipsOf({ context }).reduce((sum, { isBounded }) => sum + (isBounded ? 2 : 1), 0);
}

interface ClipJob {
  timeline: Timeline;
  clip: Clip;
  index: number;
  count: number;
}

/** The picture that a clip begins with: one that was given, or a frame's own latents, which no decoder and encoder have changed. */
function pictureAt({ context }: GenerationRun, { frames, pictures, embedding }: Timeline, position: number): EncodedPicture {
  const given = pictures.get(position);
  if (given) return given;
  const [, channels, height, width] = latentDims(context);
  const scale = context.models.vae.config.scalingFactor;
  const latents = planesToPixels(frames[position]!, [1, channels, height, width], new Float32Array(channels * height * width));
  return { embedding, latents: cast({ data: latents.map((value) => value / scale), dtype: "float32" }, context.precision).data };
}

async function predictorOf(run: GenerationRun, model: ClipModel, { timeline, clip }: ClipJob): Promise<Predict> {
  const forward = await model.from(pictureAt(run, timeline, clip.positions[0]!));
  if (!clip.isBounded) return forward;
  const backward = await model.from(pictureAt(run, timeline, clip.positions.at(-1)!));
  return fromBothEnds(forward, backward, clip.positions.length);
}

async function denoiseClip(run: GenerationRun, model: ClipModel, job: ClipJob): Promise<void> {
  const { context, noise } = run;
  const { timeline, clip, index, count } = job;
  const { sampler } = context.sampling;
  const length = clip.positions.length;
  const spare = await noise.scaledFrames(clip.positions.filter((at) => at === undefined).length);
  const spares = framesOf(spare, Math.max(1, spare.length / timeline.noise[0]!.length));
  const known = clip.positions.map((at) => (at === undefined ? undefined : timeline.frames[at]));
  const latents = joinFrames(clip.positions.map((at) => (at === undefined ? spares.pop()! : timeline.noise[at]!)));
  const predict = knowingFrames(await predictorOf(run, model, job), { frames: known, sampler });
  const { signal, profiler: observer } = context.options;
  const stepper = new HostStepper({ predict, sampler, latents, noise: () => noise.forStep(length), signal, observer });
  const steps = { before: index * sampler.numSteps, total: count * sampler.numSteps };
  const result = framesOf(await denoise(stepper, sampler, stepOptions(run, steps)), length);
  clip.positions.forEach((at, i) => {
    if (at !== undefined) timeline.frames[at] ??= result[i]!.slice();
  });
}
