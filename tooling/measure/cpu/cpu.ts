// This project as a peer of cpu.py: answers {"case", "runs"} lines with {"seconds", "peakBytes"} lines.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Device, openDevice, VdError } from "@vd/kernels-native";
import {
  conditionStage,
  decodeStage,
  denoiseStage,
  embedImageStage,
  encodeImageStage,
  makeModels,
  openModelFolder,
  StableVideoDiffusionPipeline,
  type StageDefinition,
  type StageShape,
} from "@vd/svd-pipeline";
import { layoutGraph, Plan } from "@vd/tensor";
import { spatialFactor } from "@vd/vae-opt";
import { moveDimension } from "../../goldens/layout";
import { inGoldenOrder } from "../../goldens/model-run";

interface About {
  shapes: Record<string, number[]>;
  settings: Record<string, number>;
  threads: number;
  model: string;
}

/** How to run a case once. The result is in PyTorch's order only if it is asked for. */
type Case = (inOrder: boolean) => Promise<Float32Array | Uint8Array>;

const [work] = process.argv.slice(2);
if (work === undefined) throw new Error("usage: cpu.ts WORK, started by cpu.py");
const about: About = JSON.parse(readFileSync(join(work, "inputs.json"), "utf8"));
const { settings } = about;

const bytesOf = (name: string) => new Uint8Array(readFileSync(join(work, `${name}.bin`)));
const numbersOf = (name: string) => new Float32Array(bytesOf(name).buffer);

async function openModels() {
  const components = await openModelFolder(about.model);
  const models = makeModels(components);
  const { num_frames: numFrames, width, height } = settings as Record<string, number> & Record<string, never>;
  const shape: StageShape = {
    ...{ numFrames: numFrames!, width: width!, height: height!, rows: 2, decodeChunk: undefined },
    factor: spatialFactor(models.vae.config),
  };
  return { components, models, shape, device: openDevice("cpu", { threads: about.threads }) };
}

type Inputs = Record<string, ArrayLike<number>>;

async function load(device: Device, { build }: StageDefinition): Promise<Plan> {
  return Plan.load(device, layoutGraph(build));
}

/** A stage that is fed and read in every run, as a generation does it. */
function stageCase(plan: Plan, inputs: Inputs, output: string): Case {
  const { dims } = plan.layout.graph.outputs.get(output)!;
  return async (inOrder) => {
    for (const [name, values] of Object.entries(inputs)) plan.writeSync(name, values);
    await plan.run();
    const values = plan.readSync(output);
    // Predictions come in planes already; pictures come with their channels last.
    const isPicture = inOrder && output !== "prediction";
    return isPicture ? inGoldenOrder(values, dims, output, dims.length === 5 ? 4 : 2) : values;
  };
}

async function unetCase(): Promise<Case> {
  const { models, shape, device } = await openModels();
  const conditioning = await load(device, conditionStage(models, shape));
  conditioning.writeSync("context", numbersOf("unet.first.encoder_hidden_states"));
  await conditioning.run();
  const plan = await load(device, denoiseStage(models, shape));
  for (const name of ["cross", "frames"]) plan.writeSync(name, conditioning.readSync(name));
  conditioning.freeSync();
  plan.writeSync("guidance", numbersOf("guidance"));
  plan.writeSync("addedTimeIds", numbersOf("unet.first.added_time_ids"));
  plan.writeSync("image", moveDimension(numbersOf("image_latents"), about.shapes.image_latents!, 1, 3).values);
  const inputs = {
    latents: numbersOf("latents.init"),
    inputScale: numbersOf("input_scale"),
    timestep: numbersOf("unet.first.timestep"),
  };
  return stageCase(plan, inputs, "prediction");
}

async function decodeCase(): Promise<Case> {
  const { models, shape, device } = await openModels();
  const plan = await load(device, decodeStage(models, shape));
  return stageCase(plan, { latents: numbersOf("latents.last") }, "frames");
}

async function encodeCase(): Promise<Case> {
  const { models, shape, device } = await openModels();
  const plan = await load(device, encodeImageStage(models, shape));
  return stageCase(plan, { image: numbersOf("vae.encode_input") }, "moments");
}

async function clipCase(): Promise<Case> {
  const { components, models, device } = await openModels();
  const plan = await load(device, embedImageStage(models, components.clipPixels.size));
  return stageCase(plan, { pixels: numbersOf("clip.pixel_values") }, "embedding");
}

async function pipelineCase(): Promise<Case> {
  const { model, threads, shapes } = about;
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { device: "cpu", threads });
  const [height, width] = shapes.image_u8 as [number, number];
  const image = { width, height, data: bytesOf("image_u8") };
  const options = {
    ...{ image, width: settings.width, height: settings.height, numFrames: settings.num_frames },
    ...{ steps: settings.num_inference_steps, fps: settings.fps, seed: settings.seed },
    ...{ minGuidance: settings.min_guidance_scale, maxGuidance: settings.max_guidance_scale },
    ...{ motionBucketId: settings.motion_bucket_id, noiseAugStrength: settings.noise_aug_strength },
  };
  return async () => (await pipeline.generate(options)).data;
}

const loaders: Readonly<Record<string, () => Promise<Case>>> = {
  unet: unetCase,
  decode: decodeCase,
  encode: encodeCase,
  clip: clipCase,
  pipeline: pipelineCase,
};

const ready = new Map<string, Case>();

async function answer({ case: name, runs }: { case: string; runs: number }): Promise<void> {
  let run = ready.get(name);
  if (run === undefined) {
    const loader = loaders[name];
    if (loader === undefined) throw new Error(`unknown case ${name}`);
    run = await loader();
    ready.set(name, run);
    writeFileSync(join(work!, `ours.${name}.bin`), await run(true));
  }
  const seconds: number[] = [];
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await run(false);
    seconds.push((performance.now() - start) / 1000);
  }
  console.log(JSON.stringify({ seconds, peakBytes: process.resourceUsage().maxRSS * 1024 }));
}

try {
  for await (const line of createInterface({ input: process.stdin })) await answer(JSON.parse(line));
} catch (error) {
  console.error(error instanceof VdError ? error.message : error);
  process.exitCode = 1;
}
