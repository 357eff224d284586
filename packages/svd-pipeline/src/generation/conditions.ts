import type { Device } from "@vd/kernels-native";
import { guidanceScales, roundNumber } from "@vd/sampling";
import type { Plan } from "@vd/tensor";
import type { StepConstants } from "../denoising/step-constants";
import { conditionStage } from "../stages/definitions";
import type { GenerationContext, GenerationRun } from "./context";
import type { EncodedPicture } from "./encode-picture";
import { roundedTo } from "./rounding";

/** Returns what every step is told of the video: its micro-conditions and its guidance. */
export function videoConditions(context: GenerationContext): Pick<StepConstants, "timeIds" | "guidance"> {
  const { shape, checked, precision } = context;
  const { minGuidance, maxGuidance, numFrames } = checked;
  const rounded = (value: number) => roundNumber(value, precision);
  const guided = shape.rows === 2 && guidanceScales(checked.guidance, minGuidance, maxGuidance, numFrames);
  return {
    timeIds: [rounded(checked.fps - 1), rounded(checked.motionBucketId), rounded(checked.noiseAugStrength)],
    guidance: guided ? roundedTo(precision, guided) : undefined,
  };
}

/** What the denoiser is told of the picture's embedding and of the frames' places. */
export type Conditions = Pick<StepConstants, "cross" | "frames">;

/** Computes what follows from CLIP's embedding, [D], for all steps on `device`. */
export function computeConditions(
  { context, progress, loader }: Pick<GenerationRun, "context" | "progress" | "loader">,
  embedding: Float32Array,
  device: Device,
): Promise<Conditions> {
  const { models, shape, options } = context;
  const tokens = new Float32Array(shape.rows * embedding.length); // The unconditional row stays zero.
  tokens.set(embedding, (shape.rows - 1) * embedding.length);
  const body = async (plan: Plan) => {
    await plan.write("context", tokens);
    await plan.run({ signal: options.signal });
    const [cross, frames] = [await plan.read("cross"), await plan.read("frames")];
    return { cross, frames };
  };
  return progress.scope("condition", () => loader.run(conditionStage(models, shape), body, { device }));
}

/** Returns what all steps on `device` share, from what the models made of the picture. */
export async function stepConstants(
  run: GenerationRun,
  { embedding, latents }: EncodedPicture,
  device: Device,
): Promise<StepConstants> {
  // What failed beside other work, such as for want of memory, may do alone.
  const ahead = await run.conditionsAhead?.get(embedding)?.catch(() => undefined);
  const conditions = ahead ?? (await computeConditions(run, embedding, device));
  return { image: latents, ...conditions, ...videoConditions(run.context) };
}
