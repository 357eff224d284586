import { countOf, type Device } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import { stepNeeds } from "../denoising/chosen-sampling";
import { type DenoisedStep, type DenoiseOptions, denoise, type Stepper } from "../denoising/denoise";
import type { DenoiserFactory } from "../denoising/denoiser";
import { DeviceStepper, type DeviceStepperInput } from "../denoising/device-stepper";
import { HostStepper, type Predict, predictByDenoiser, predictByPlan } from "../denoising/host-stepper";
import { writeStepConstants } from "../denoising/step-constants";
import { startStage } from "../stages/definitions";
import { denoisingStage } from "../stages/generation-stages";
import { stepConstants, videoConditions } from "./conditions";
import { checkLatents, type GenerationContext, type GenerationRun, latentDims } from "./context";
import { decodePreview } from "./decode-frames";
import type { EncodedPicture } from "./encode-picture";
import { denoiseCompile } from "./load-ahead";
import type { StepState } from "./resume/generation-state";

/** Where denoising begins: at the first latents, [F,C,h,w], or after a step of an earlier run. */
export interface Beginning {
  latents: Float32Array;
  after: StepState | undefined;
}

/** Denoises to the clean latents, [F,C,h,w], from the first ones or from where an earlier run has come: by own kernels, or by
 *  a denoiser that runs elsewhere. */
export function denoiseLatents(run: GenerationRun, begin: Beginning, picture: EncodedPicture): Promise<Float32Array> {
  const { denoiser, device } = run.context;
  if (denoiser?.kind === "elsewhere") return denoiseElsewhere(run, denoiser.factory, begin, picture);
  return denoiseOn(run, denoiser?.device ?? device, begin, picture);
}

/** Finds the last step of an earlier run, or draws the first latents. */
export async function beginning({ context, noise }: GenerationRun): Promise<Beginning> {
  const after = await context.state?.lastStep();
  if (!after) return { latents: await noise.firstLatents(), after };
  noise.goOnFrom(after.noise);
  // The step's own latents take the place of these.
  return { latents: context.scratch.floats("latents", countOf(latentDims(context))), after };
}

/** Denoises by this package's kernels. */
async function denoiseOn(run: GenerationRun, device: Device, begin: Beginning, picture: EncodedPicture) {
  const { context, loader } = run;
  const { models, shape, sampling } = context;
  const constants = await stepConstants(run, picture, device);
  const stage = denoisingStage(models, shape, stepNeeds(sampling));
  const body = async (plan: Plan) => {
    await writeStepConstants(plan, constants);
    const fill = (latents: Float32Array, inputScale: number) =>
      fillStates(run, { plan, device, image: picture.latents, latents, inputScale });
    return takeSteps(run, begin, () => stepperOf(run, plan, begin, fill));
  };
  return loader.run(stage, body, { ...denoiseCompile(context, device), device });
}

/** What {@link fillStates} works with. */
interface StartInput {
  /** A loaded plan of `sampleStage`. */
  plan: Plan;
  device: Device;
  /** Latents of the picture, [h,w,C]. */
  image: Float32Array;
  /** Noisy latents, [F,C,h,w]. */
  latents: Float32Array;
  inputScale: number;
}

/** Fills the states from which the denoiser's plan makes its next call. */
function fillStates({ context, loader, progress }: GenerationRun, input: StartInput): Promise<void> {
  const { plan, device, image, latents, inputScale } = input;
  const body = async (start: Plan) => {
    await start.write("latents", latents);
    await start.write("image", image);
    await start.write("inputScale", [inputScale]);
    await start.run({ signal: context.options.signal });
    await plan.copyFrom("x", start, "x");
    await plan.copyFrom("input", start, "input");
  };
  return progress.scope("start", () => loader.run(startStage(context.models, context.shape), body, { device }));
}

/** Denoises by calls of a denoiser that runs elsewhere. */
async function denoiseElsewhere(
  run: GenerationRun,
  factory: DenoiserFactory,
  begin: Beginning,
  picture: EncodedPicture,
): Promise<Float32Array> {
  const { context, progress } = run;
  const { components, models, shape, sampling, options } = context;
  const denoiser = await factory.open({
    ...{ components, models, shape, embedding: picture.embedding, image: picture.latents },
    ...videoConditions(context),
    signal: options.signal,
    onMessage: (message) => progress.report("denoise", 0, sampling.sampler.numSteps, { message }),
  });
  try {
    return await takeSteps(run, begin, () => hostStepper(run, predictByDenoiser(denoiser), begin));
  } finally {
    await denoiser.close();
  }
}

function hostStepper({ context, noise }: GenerationRun, predict: Predict, { latents, after }: Beginning): HostStepper {
  const { sampling, options } = context;
  const { signal, profiler: observer } = options;
  return new HostStepper({
    predict,
    sampler: sampling.sampler,
    latents,
    memory: after?.memory,
    noise: () => noise.forStep(),
    signal,
    observer,
  });
}

/** On the device for linear samplers, on the host for others. */
async function stepperOf(
  run: GenerationRun,
  plan: Plan,
  begin: Beginning,
  fill: DeviceStepperInput["fill"],
): Promise<Stepper> {
  const { context, noise } = run;
  const { sampler, linear, stepNoise } = context.sampling;
  if (!linear) return hostStepper(run, predictByPlan(plan), begin);
  const { latents, after } = begin;
  return DeviceStepper.start({
    memory: after?.memory,
    ...{ plan, sampler, linear, latents, fill, dims: latentDims(context), scratch: context.scratch },
    philox: stepNoise === "cuda" ? () => noise.philoxForStep() : undefined,
    noise: () => noise.forStep(),
    signal: context.options.signal,
  });
}

async function takeSteps(
  run: GenerationRun,
  { after }: Beginning,
  start: () => Stepper | Promise<Stepper>,
): Promise<Float32Array> {
  const { sampler } = run.context.sampling;
  const message = after && { message: `goes on after step ${after.step}` };
  run.progress.report("denoise", after?.step ?? 0, sampler.numSteps, message);
  return denoise(await start(), sampler, { firstCall: after?.nextCall, ...stepOptions(run) });
}

/** Writes all that the next step goes on from to the disk. */
async function keepStep({ context, noise, progress }: GenerationRun, done: DenoisedStep): Promise<void> {
  const { step, nextCall } = done;
  await progress.scope("keep state", async () =>
    context.state?.keepStep({ step, nextCall, memory: await done.save(), noise: noise.position() }),
  );
}

/** Shows the caller the latents after a step, and takes those that come back. */
async function callStepEnd(context: GenerationContext, done: DenoisedStep): Promise<void> {
  const { options, sampling } = context;
  const { step, timestep } = done;
  const shown = { step, steps: sampling.sampler.numSteps, timestep, latents: await done.latents() };
  const latents = await options.onStepEnd?.(shown);
  if (latents === undefined) return;
  checkLatents("onStepEnd", latents, context);
  await done.replaceLatents(latents);
}

/** Reports every step, and decodes a preview after some. */
function stepOptions(run: GenerationRun): DenoiseOptions {
  const { context, progress } = run;
  const { checked, options, sampling } = context;
  const { numSteps } = sampling.sampler;
  return {
    observer: options.profiler,
    onStep: async (done) => {
      const { step, stepUs, denoised } = done;
      progress.report("denoise", step, numSteps, { stepUs });
      const shows = options.onPreview && step % checked.previewEvery === 0 && step < numSteps;
      if (shows) await progress.scope("preview", async () => decodePreview(run, step, await denoised()));
      if (options.onStepEnd) await callStepEnd(context, done);
      if (context.state) await keepStep(run, done);
    },
  };
}
