import { cast, stepsFromDenoised } from "@vd/sampling";
import { planesToPixels } from "@vd/tensor";
import { CallPlanner } from "../../denoising/call-planner";
import { denoise } from "../../denoising/denoise";
import { HostStepper, type KeptFeatures, type Predict } from "../../denoising/host-stepper";
import { type GenerationContext, type GenerationRun, latentDims } from "../context";
import { type StepRange, stepOptions } from "../denoise-latents";
import type { EncodedPicture } from "../encode-picture";
import type { StepState } from "../resume/generation-state";
import { skippingCalls } from "./guess-probe";
import { knowingFrames } from "./known-frames";

/** A run that sees one clip. */
export function clipRun({ context, ...run }: GenerationRun): GenerationRun {
  const { shape, checked } = context;
  const numFrames = shape.clipFrames!;
  return {
    ...run,
    context: { ...context, shape: { ...shape, numFrames }, checked: { ...checked, numFrames } },
  };
}

/** Views of the frames of latents [F,C,h,w]. */
export function framesOf(latents: Float32Array, numFrames: number): Float32Array[] {
  const length = latents.length / numFrames;
  return Array.from({ length: numFrames }, (_, i) => latents.subarray(i * length, (i + 1) * length));
}

/** Latents of frames, [C,h,w] each, one after the other: [F,C,h,w]. */
export function joinFrames(frames: readonly Float32Array[]): Float32Array {
  const length = frames[0]!.length;
  const joined = new Float32Array(frames.length * length);
  frames.forEach((frame, i) => void joined.set(frame, i * length));
  return joined;
}

/** Returns a frame's own latents, [C,h,w], as the picture that a clip begins with: no decoder and encoder have changed them. */
export function pictureOfFrame(
  context: Pick<GenerationContext, "shape" | "models" | "precision">,
  frame: Float32Array,
  embedding: Float32Array,
): EncodedPicture {
  const [, channels, height, width] = latentDims(context);
  const scale = context.models.vae.config.scalingFactor;
  const latents = planesToPixels(frame, [1, channels, height, width], new Float32Array(channels * height * width));
  return {
    embedding,
    latents: cast({ data: latents.map((value) => value / scale), dtype: "float32" }, context.precision).data,
  };
}

/** What one clip is denoised from. */
export interface ClipStart {
  predict: Predict;
  /** What the model keeps of earlier calls, where it does. */
  features?: KeptFeatures | undefined;
  /** For each frame its clean latents, [C,h,w], or undefined for a frame that is to be made. */
  known: readonly (Float32Array | undefined)[];
  /** Noise at the first noise level, [F,C,h,w]. */
  latents: Float32Array;
  /** True where frames that are made lead to known ones. */
  leadsTo: boolean;
  /** Which steps of all are this clip's. */
  range: StepRange;
  /** The step of an earlier run that it goes on after. */
  after?: StepState | undefined;
}

/** Denoises one clip of which some frames may be known. run: with the shape of a clip. Returns the clean latents of its frames, [C,h,w]
 *  each. */
export async function denoiseOneClip(run: GenerationRun, start: ClipStart): Promise<Float32Array[]> {
  const { context, noise } = run;
  const { sampler } = context.sampling;
  const { known: frames, latents, leadsTo, range, after } = start;
  const made = context.calls ? skippingCalls(start.predict, sampler, () => run.callsMade.skipped++) : start.predict;
  const predict = knowingFrames(made, { frames, sampler, leadsTo });
  const { signal, profiler: observer } = context.options;
  const drawn = () => noise.forStep(frames.length);
  const memory = after?.memory;
  start.features?.begin(memory?.tensors);
  const savings = savingsOfClip(context, start.features);
  const stepper = new HostStepper({ predict, sampler, latents, memory, savings, noise: drawn, signal, observer });
  const options = { firstCall: after?.nextCall, ...stepOptions(run, range) };
  return framesOf(await denoise(stepper, sampler, options), frames.length);
}

/** What a clip saves calls by, on its own: each begins anew. */
function savingsOfClip({ calls, sampling, shape }: GenerationContext, features: KeptFeatures | undefined) {
  if (!calls) return undefined;
  const measures = calls.savings.changeThreshold > 0;
  // A call whose data prediction does not depend on the model's output cannot be skipped.
  if (measures) stepsFromDenoised(sampling.linear!);
  return { planner: new CallPlanner(sampling.sampler, shape.rows, calls.savings), measures, features };
}
