import type { Plan } from "@vd/tensor";
import type { DenoiserFactory } from "../../denoising/denoiser";
import { type Predict, predictByDenoiser, predictByPlan } from "../../denoising/host-stepper";
import { type StepConstants, writeStepConstants } from "../../denoising/step-constants";
import { denoiseStage } from "../../stages/definitions";
import { stepConstants, videoConditions } from "../conditions";
import type { GenerationRun } from "../context";
import { denoiseCompile } from "../denoise-compile";
import type { EncodedPicture } from "../encode-picture";
import { denoiseWithinMemory } from "../less-memory";

/** The denoiser, told of the picture that a clip begins with. */
export interface ClipModel {
  /** Returns the predictions of clips that begin with a picture. */
  from(picture: EncodedPicture): Promise<Predict>;
}

/**
 * Hands the denoiser to `body`: own kernels, loaded once for all clips, or a denoiser that runs elsewhere. run: with the shape of one
 * clip. embeddings: of all pictures that there will be, [D] each.
 */
export function withClipModel<T>(
  run: GenerationRun,
  embeddings: readonly Float32Array[],
  body: (model: ClipModel) => Promise<T>,
): Promise<T> {
  const { denoiser } = run.context;
  if (denoiser?.kind === "elsewhere") return withDenoiser(run, denoiser.factory, body);
  return withOwnKernels(run, embeddings, body);
}

async function withOwnKernels<T>(
  run: GenerationRun,
  embeddings: readonly Float32Array[],
  body: (model: ClipModel) => Promise<T>,
): Promise<T> {
  const { context, loader } = run;
  const device = context.denoiser?.kind === "own" ? context.denoiser.device : context.device;
  const shared = new Map<Float32Array, StepConstants>();
  for (const embedding of new Set(embeddings))
    shared.set(embedding, await stepConstants(run, { embedding, latents: new Float32Array() }, device));
  let hasBegun = false;
  const withPlan = (plan: Plan) => {
    hasBegun = true;
    const predict = predictByPlan(plan);
    let written: StepConstants | undefined;
    return body({
      async from({ embedding, latents: image }) {
        const constants = { ...shared.get(embedding)!, image };
        return async (call) => {
          if (written !== constants) await writeStepConstants(plan, constants);
          written = constants;
          run.callsMade.full++;
          return predict(call);
        };
      },
    });
  };
  const denoised = () =>
    loader.run(denoiseStage(context.models, context.shape), withPlan, { ...denoiseCompile(context, device), device });
  // Clips that are done stand on the timeline already.
  return denoiseWithinMemory(run, device, denoised, () => !hasBegun);
}

async function withDenoiser<T>(
  { context, progress, callsMade }: GenerationRun,
  factory: DenoiserFactory,
  body: (model: ClipModel) => Promise<T>,
): Promise<T> {
  const { components, models, shape, options, sampling } = context;
  const opened: { close(): Promise<void> }[] = [];
  const from = async ({ embedding, latents: image }: EncodedPicture): Promise<Predict> => {
    const denoiser = await factory.open({
      ...{ components, models, shape, embedding, image, ...videoConditions(context), signal: options.signal },
      onMessage: (message) => progress.report("denoise", 0, sampling.sampler.numSteps, { message }),
    });
    opened.push(denoiser);
    const predict = predictByDenoiser(denoiser);
    return (call) => {
      callsMade.full++;
      return predict(call);
    };
  };
  try {
    return await body({ from });
  } finally {
    for (const each of opened) await each.close();
  }
}
