import { openDevice } from "@vd/kernels-native";
import { createSampler, linearSteps, type SchedulerConfig } from "@vd/sampling";
import { layoutGraph, PhiloxGenerator, Plan, planesToPixels } from "@vd/tensor";
import { afterAll, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import { stepNeeds } from "../../src/denoising/chosen-sampling";
import { type DenoisingPlan, denoise, type Stepper } from "../../src/denoising/denoise";
import { DeviceStepper } from "../../src/denoising/device-stepper";
import { HostStepper, predictByPlan } from "../../src/denoising/host-stepper";
import { writeStepConstants } from "../../src/denoising/step-constants";
import { openModelFolder } from "../../src/opening/folder";
import { makeModels } from "../../src/opening/models";
import type { StepNoise } from "../../src/options/choices";
import { denoiseStage, type StageShape, sampleStage, startStage } from "../../src/stages/definitions";
import type { StageDefinition } from "../../src/stages/stage";
import { TINY_SVD } from "../support/tiny-model";

const device = openDevice("cpu", { threads: 2 });
const models = makeModels(await openModelFolder(TINY_SVD));
const SHAPE: StageShape = { numFrames: 2, width: 32, height: 32, factor: 8, rows: 2, decodeChunk: undefined };
const SIZES = [2, 4, 4, 4] as const;
const COUNT = 2 * 4 * 4 * 4;
const plans: Plan[] = [];
afterAll(() => {
  for (const plan of plans) plan.freeSync();
});

/** Numbers of about a normal distribution. */
const numbers = (count: number, seed: number) =>
  Float32Array.from({ length: count }, (_, i) => 2 * Math.sin(12.9898 * (i + 1) * (seed + 1)));

const IMAGE = numbers(4 * 4 * 4, 5);

async function load(stage: StageDefinition): Promise<Plan> {
  const plan = await Plan.load(device, layoutGraph(stage.build));
  plans.push(plan);
  return plan;
}

/** A loaded denoising stage with operands that stay the same. */
async function loadDenoising(stage: StageDefinition): Promise<Plan> {
  const plan = await load(stage);
  await writeStepConstants(plan, {
    image: IMAGE,
    cross: numbers(2 * Math.max(models.unet.crossWidth, 1), 1),
    frames: numbers(2 * Math.max(models.unet.framesWidth, 1), 2),
    timeIds: [6, 127, 0.02],
    guidance: Float32Array.of(1, 2.5),
  });
  return plan;
}

/** A plan whose runs queue, as recorded ones on a GPU do. numWaiting: how many of its runs, behind the first, last until the next one was asked for. */
function queueing(plan: Plan, numWaiting = 0): DenoisingPlan {
  const asked: (() => void)[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    queuesRuns: true,
    write: (name, data) => plan.write(name, data),
    stage: (name, data) => plan.stage(name, data),
    read: (name) => plan.read(name),
    readChecked: (name) => plan.readChecked(name),
    readPlanes: (name, into) => plan.readPlanes(name, into),
    run(options) {
      asked.at(-1)?.();
      const next = new Promise<void>((resolve) => asked.push(resolve));
      const waits = asked.length > 1 && asked.length <= numWaiting + 1;
      const copies = plan.takeStaged();
      const run = last
        .then(() => plan.run({ ...options, copies, leavesStaged: true }))
        .then(() => (waits ? next : undefined));
      last = run.catch(() => undefined);
      return run;
    },
  };
}

const trained: SchedulerConfig = { _class_name: "DDIMScheduler", beta_schedule: "scaled_linear" };

it.each<[string, SchedulerConfig, StepNoise?]>([
  ["ancestral Euler with noise of a GPU's generator", svdConfig, "cuda"],
  ["ancestral Euler with noise of the CPU's generator", svdConfig, "cpu"],
  ["clipped DDIM", { ...trained, clip_sample: true, clip_sample_range: 0.7 }],
  ["clipped DDPM", { ...trained, _class_name: "DDPMScheduler", clip_sample: true }],
  [
    "thresholded DPM-Solver++",
    {
      ...{ ...trained, _class_name: "DPMSolverMultistepScheduler", thresholding: true },
      ...{ dynamic_thresholding_ratio: 0.9, sample_max_value: 5 },
    },
  ],
])("%s leads on the device where it leads on the host", async (_, config, stepNoise = "cpu") => {
  const sampler = createSampler(config, { steps: 4, ...(config === svdConfig ? { name: "euler_a" } : {}) });
  const linear = linearSteps(sampler)!;
  const latents = () => numbers(COUNT, 3);
  let draws = 0;
  let generator = new PhiloxGenerator(9);
  const isDrawn = stepNoise === "cuda";
  const noise = async () => (isDrawn ? generator.randn(COUNT) : numbers(COUNT, 20 + draws++));
  const philox = isDrawn ? () => generator.draw(COUNT).words : undefined;
  const [start, plan] = [
    await load(startStage(models, SHAPE)),
    await loadDenoising(sampleStage(models, SHAPE, stepNeeds({ sampler, linear, stepNoise })!)),
  ];
  const onDevice = (given: DenoisingPlan, callsFollow: boolean) =>
    DeviceStepper.start({
      ...{ plan: given, callsFollow, sampler, linear, philox, dims: SIZES, latents: latents() },
      noise: async () => planesToPixels(await noise(), SIZES, new Float32Array(COUNT)),
      states: { layout: plan.layout, readBytes: (name) => plan.readBytes(name) },
      async fill(first, inputScale) {
        await start.write("latents", first);
        await start.write("image", IMAGE);
        await start.write("inputScale", [inputScale]);
        await start.run();
        await plan.copyFrom("x", start, "x");
        await plan.copyFrom("input", start, "input");
      },
    });
  const predict = predictByPlan(await loadDenoising(denoiseStage(models, SHAPE)));
  const finish = (stepper: Stepper) => denoise(stepper, sampler, { onStep: async () => {} });
  const got = await finish(await onDevice(plan, false));
  const again = () => {
    draws = 0;
    generator = new PhiloxGenerator(9);
  };
  for (const given of [plan, queueing(plan, sampler.numModelCalls - 2)]) {
    again();
    expect(await finish(await onDevice(given, true))).toEqual(got);
  }
  again();
  const wanted = await finish(new HostStepper({ predict, sampler, latents: latents(), noise }));
  const rms = Math.sqrt(wanted.reduce((sum, v) => sum + v * v, 0) / COUNT);
  expect(rms).toBeGreaterThan(0.01);
  got.forEach((value, i) => {
    expect(Math.abs(value - wanted[i]!)).toBeLessThan(1e-3 * rms);
  });
});

it("says at which step latents are no longer finite, also where the next call was asked for by then", async () => {
  const sampler = createSampler(svdConfig, { steps: 4 });
  const linear = linearSteps(sampler)!;
  const plan = await loadDenoising(sampleStage(models, SHAPE, stepNeeds({ sampler, linear, stepNoise: "cpu" })!));
  for (const given of [plan, queueing(plan)]) {
    const stepper = await DeviceStepper.start({
      ...{ plan: given, sampler, linear, callsFollow: true, dims: SIZES, latents: new Float32Array(COUNT) },
      states: { layout: plan.layout, readBytes: (name) => plan.readBytes(name) },
      noise: async () => new Float32Array(COUNT),
      fill: () => plan.write("x", new Float32Array(COUNT).fill(Number.NaN)),
    });
    const error = await failureOf(denoise(stepper, sampler, { onStep: async () => {} }));
    expect([error.code, error.where]).toEqual(["weights", "denoise step 1"]);
  }
});
