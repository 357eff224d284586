import { countOf, type Device } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import { stepNeeds } from "../denoising/chosen-sampling";
import {
  type DenoisedStep,
  type DenoiseOptions,
  type DenoisingPlan,
  denoise,
  type Stepper,
} from "../denoising/denoise";
import type { DenoiserFactory } from "../denoising/denoiser";
import { DeviceStepper, type DeviceStepperInput } from "../denoising/device-stepper";
import { HostStepper, type Predict, predictByDenoiser, predictByPlan } from "../denoising/host-stepper";
import { writeStepConstants } from "../denoising/step-constants";
import type { StoredStates } from "../denoising/stored-states";
import { denoiseOnRows, fillRows, splitsRows } from "../devices/denoise-rows";
import { startStage } from "../stages/definitions";
import { denoisingStage } from "../stages/generation-stages";
import { withCalls } from "./calls";
import { stepConstants, videoConditions } from "./conditions";
import { checkLatents, type GenerationContext, type GenerationRun, latentDims } from "./context";
import { decodePreview } from "./decode-frames";
import { denoiseCompile } from "./denoise-compile";
import type { EncodedPicture } from "./encode-picture";
import { denoiseWithinMemory } from "./less-memory";
import { prepareDecoding } from "./prepare-decoding";
import type { StepState } from "./resume/generation-state";
import { together } from "./together";

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
  if (splitsRows(run.context)) return denoiseOnTeam(run, begin, picture);
  const own = denoiser?.device ?? device;
  return denoiseWithinMemory(run, own, () => denoiseOn(run, own, begin, picture));
}

/** Finds the last step of an earlier run, or draws the first latents. */
export async function beginning({ context, noise }: GenerationRun): Promise<Beginning> {
  const after = await context.state?.lastStep();
  if (!after) return { latents: await noise.firstLatents(), after };
  await noise.goOnFrom(after.noise);
  // The step's own latents take the place of these.
  return { latents: context.scratch.floats("latents", countOf(latentDims(context))), after };
}

/** Denoises by this package's kernels on two devices, a row of guidance on each. */
async function denoiseOnTeam(run: GenerationRun, begin: Beginning, picture: EncodedPicture): Promise<Float32Array> {
  const constants = await stepConstants(run, picture, run.context.device);
  return denoiseOnRows(run, async (plan) => {
    await writeStepConstants(plan, constants);
    const fill = (latents: Float32Array, inputScale: number) =>
      fillRows(run, plan, { image: picture.latents, latents, inputScale });
    return takeSteps(run, begin, () => stepperOf(run, plan, plan, begin, fill));
  });
}

/** Denoises by this package's kernels. */
async function denoiseOn(run: GenerationRun, device: Device, begin: Beginning, picture: EncodedPicture) {
  const { context, loader } = run;
  const { models, shape, sampling, calls } = context;
  const constants = await stepConstants(run, picture, device);
  if (calls) return withCalls(run, calls, constants, device, (start) => takeSteps(run, begin, () => start(begin)));
  const stage = denoisingStage(models, shape, stepNeeds(sampling));
  const body = async (plan: Plan) => {
    const fill = (latents: Float32Array, inputScale: number) =>
      fillStates(run, { plan, device, image: picture.latents, latents, inputScale });
    const states = { layout: plan.layout, readBytes: (name: string) => plan.readBytes(name) };
    const start = () =>
      together<[unknown, Stepper]>([writeStepConstants(plan, constants), stepperOf(run, plan, states, begin, fill)]);
    return takeSteps(run, begin, async () => (await start())[1]);
  };
  const options = { ...denoiseCompile(context, device), device };
  return loader.run(stage, body, options);
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
    await Promise.all([
      start.write("latents", latents),
      start.write("image", image),
      start.write("inputScale", [inputScale]),
    ]);
    await start.run({ signal: context.options.signal });
    await Promise.all(["x", "input"].map((state) => plan.copyFrom(state, start, state)));
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

/** Whether latents are read, or replaced, between calls, or each call is to be measured by itself. */
const looksBetweenCalls = ({ options, state }: GenerationContext): boolean =>
  [options.onStepEnd, options.onPreview, options.profiler, state].some((each) => each !== undefined);

/** On the device for linear samplers, on the host for others. */
async function stepperOf(
  run: GenerationRun,
  plan: DenoisingPlan,
  states: StoredStates,
  begin: Beginning,
  fill: DeviceStepperInput["fill"],
): Promise<Stepper> {
  const { context, noise } = run;
  const { sampler, linear, stepNoise } = context.sampling;
  if (!linear) return hostStepper(run, predictByPlan(plan), begin);
  const { latents, after } = begin;
  return DeviceStepper.start({
    memory: after?.memory,
    ...{ plan, states, sampler, linear, latents, fill, dims: latentDims(context) },
    philox: stepNoise === "cuda" ? () => noise.philoxForStep() : undefined,
    noise: () => noise.pixelsForStep(),
    drawNoiseAhead: () => noise.drawStepAhead(),
    whileComputing: () => prepareDecoding(run),
    callsFollow: !looksBetweenCalls(run.context),
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
  const last = await denoise(await start(), sampler, { firstCall: after?.nextCall, ...stepOptions(run) });
  if (!run.context.calls) run.callsMade.full += sampler.numModelCalls - (after?.nextCall ?? 0);
  return last;
}

/** Writes all that the next step goes on from to the disk. step: of all clips together. */
async function keepStep({ context, noise, progress }: GenerationRun, done: DenoisedStep, step: number): Promise<void> {
  const { nextCall, save } = done;
  await progress.scope("keep state", async () =>
    context.state?.keepStep({ step, nextCall, memory: await save(), noise: noise.position() }),
  );
}

/** Which steps of a video are those of a clip. */
export interface StepRange {
  /** Steps of the clips before. */
  before: number;
  /** Steps of all clips. */
  total: number;
}

/** Shows the caller the latents after a step, and takes those that come back. */
async function callStepEnd(context: GenerationContext, done: DenoisedStep, steps: number): Promise<void> {
  const { options } = context;
  const { step, timestep } = done;
  const shown = { step, steps, timestep, latents: await done.latents() };
  const latents = await options.onStepEnd?.(shown);
  if (latents === undefined) return;
  checkLatents("onStepEnd", latents, context);
  await done.replaceLatents(latents);
}

/** Reports every step, and decodes a preview after some. range: where the steps are those of a clip of the video. */
export function stepOptions(run: GenerationRun, range?: StepRange): DenoiseOptions {
  const { context, progress } = run;
  const { checked, options, sampling } = context;
  const { before, total } = range ?? { before: 0, total: sampling.sampler.numSteps };
  return {
    observer: options.profiler,
    onStep: async (done) => {
      const { stepUs, denoised } = done;
      const step = before + done.step;
      progress.report("denoise", step, total, { stepUs });
      const shows = options.onPreview && step % checked.previewEvery === 0 && step < total;
      if (shows) await progress.scope("preview", async () => decodePreview(run, step, await denoised()));
      if (options.onStepEnd) await callStepEnd(context, { ...done, step }, total);
      if (context.state) await keepStep(run, done, step);
    },
  };
}
