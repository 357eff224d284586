import type { Device } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import type { CallKind } from "../../denoising/call-planner";
import type { DenoiserFactory } from "../../denoising/denoiser";
import { type KeptFeatures, type Predict, predictByDenoiser, predictByPlan } from "../../denoising/host-stepper";
import { type StepConstants, writeStepConstants } from "../../denoising/step-constants";
import { denoiseStage } from "../../stages/definitions";
import { clipStagesOf, constantsOf } from "../calls";
import { stepConstants, videoConditions } from "../conditions";
import type { GenerationRun } from "../context";
import { denoiseCompile } from "../denoise-compile";
import type { EncodedPicture } from "../encode-picture";
import { denoiseWithinMemory } from "../less-memory";
import { ClipFeatures } from "./clip-features";

/** The denoiser, told of the picture that a clip begins with. */
export interface ClipModel {
  /** Returns the predictions of clips that begin with a picture. */
  from(picture: EncodedPicture): Promise<Predict>;
  /** What the denoiser keeps of earlier calls of the predictions that are in use, where it does. */
  features?: KeptFeatures | undefined;
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
  const withPlans = (plans: ReadonlyMap<CallKind, Plan>) => {
    hasBegun = true;
    return withKindsOfCalls(run, { plans, device, shared }, body);
  };
  const options = () => ({ ...denoiseCompile(context, device), device });
  const denoised = () => {
    const { calls, models, shape } = context;
    if (!calls)
      return loader.run(denoiseStage(models, shape), (plan) => withPlans(new Map([["full", plan]])), options());
    const { stages, block } = clipStagesOf(context, calls);
    const kinds = [...stages.keys()];
    const plansOf = (loaded: readonly Plan[]) => new Map(loaded.map((plan, i) => [kinds[i]!, plan]));
    return loader.runByTurns([...stages.values()], block, (loaded) => withPlans(plansOf(loaded)), options());
  };
  // Clips that are done stand on the timeline already.
  return denoiseWithinMemory(run, device, denoised, () => !hasBegun);
}

/** What own kernels predict with. */
interface OwnKernels {
  plans: ReadonlyMap<CallKind, Plan>;
  device: Device;
  /** Operands of all calls by a picture's embedding. */
  shared: ReadonlyMap<Float32Array, StepConstants>;
}

/** Hands predictions by loaded plans to `body`: of one kind of calls, or of several that share features. */
async function withKindsOfCalls<T>(
  run: GenerationRun,
  { plans, device, shared }: OwnKernels,
  body: (model: ClipModel) => Promise<T>,
): Promise<T> {
  const reuses = (run.context.calls?.savings.featureInterval ?? 1) > 1;
  const features = reuses ? new ClipFeatures(plans.values().next().value!, device, run.loader) : undefined;
  const written = new Map<Plan, StepConstants>();
  const from = async ({ embedding, latents: image }: EncodedPicture): Promise<Predict> => {
    const constants = { ...shared.get(embedding)!, image };
    return async (call) => {
      const plan = plans.get(call.kind)!;
      if (written.get(plan) !== constants) await writeStepConstants(plan, constantsOf(call.kind, constants));
      written.set(plan, constants);
      await features?.use(constants);
      run.callsMade[call.kind]++;
      return predictByPlan(plan)(call);
    };
  };
  try {
    return await body({ from, features });
  } finally {
    await features?.free();
  }
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
