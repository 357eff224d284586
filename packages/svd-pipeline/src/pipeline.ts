import { stat } from "node:fs/promises";
import { resolveModel } from "@vd/hub";
import { type Device, VdError } from "@vd/kernels-native";
import { observed, ownTurn, runInSlices, type Tuning } from "@vd/tensor";
import { spatialFactor } from "@vd/vae-opt";
import { samplingFor, stepNeeds } from "./chosen-sampling";
import { type ChosenDenoiser, chooseDenoiser } from "./denoiser";
import { checkMemory, estimate } from "./estimate";
import { Generation, type GenerationContext, stageShape } from "./generate";
import { type CheckedLoad, checkLoad, throwIfCancelled } from "./load-options";
import type { ModelComponents } from "./model/components";
import { openModelFolder } from "./model/folder";
import { type Models, makeModelsPausable } from "./model/models";
import { openSingleFile } from "./model/single-file";
import { type CheckedOptions, checkOptions } from "./options";
import { Scratch } from "./scratch";
import { chooseDecodeChunk } from "./stages/decode-chunk";
import type { StageShape } from "./stages/definitions";
import { type CountedLayout, layoutGeneration, type StageCounts, stagesBefore } from "./stages/generation-stages";
import { StageLayouts } from "./stages/stage";
import type {
  GenerateDefaults,
  GeneratedVideo,
  GenerateOptions,
  GenerationPlan,
  LoadOptions,
  Precision,
} from "./types";

/** What an open pipeline works with. */
interface OpenModel {
  components: ModelComponents;
  models: Models;
  device: Device;
  /** Of activations. */
  precision: Precision;
  /** What decides kernel variants. */
  tuning: Tuning;
  denoiser: ChosenDenoiser | undefined;
}

/** Sizes that Stable Video Diffusion's own checkpoints were trained for. */
const FULL_SIZE = { width: 1024, height: 576 };
/** A model for pictures this small is a demonstration: it is run at its own size, with the guidance of 1 to 2 that
 *  tiny-svd's card recommends; at 3, the published models' default, it overshoots. */
const SMALL_SAMPLE = 256;

function defaultsOf({ sampleSize, unet, vae }: ModelComponents): GenerateDefaults {
  const isSmall = sampleSize !== undefined && sampleSize <= SMALL_SAMPLE;
  const factor = spatialFactor(vae.config);
  const side = factor * Math.max(1, Math.floor((sampleSize ?? 0) / factor));
  return {
    ...(isSmall ? { width: side, height: side } : FULL_SIZE),
    numFrames: unet.config.numFrames,
    steps: 25,
    fps: 7,
    motionBucketId: 127,
    noiseAugStrength: 0.02,
    minGuidance: 1,
    maxGuidance: isSmall ? 2 : 3,
  };
}

/** Stable Video Diffusion: a picture in, a video out. One generation at a time. */
export class StableVideoDiffusionPipeline {
  readonly defaults: GenerateDefaults;
  private opened: OpenModel | undefined;
  private busy = false;
  private recorded: { key: string; layouts: StageLayouts } | undefined;
  private scratch = new Scratch();

  private constructor(opened: OpenModel) {
    this.opened = opened;
    this.defaults = defaultsOf(opened.components);
  }

  /** Wires the model's modules; the event loop turns meanwhile. */
  private static async make(components: ModelComponents, load: CheckedLoad, denoiser?: ChosenDenoiser) {
    const { device, precision, tuning } = load;
    const models = await runInSlices(makeModelsPausable(components));
    return new StableVideoDiffusionPipeline({ components, models, device, precision, tuning, denoiser });
  }

  /** Opens a model folder in the standard layout, or a model of the Hugging Face Hub (`org/name` or
   *  `org/name@revision`), which is downloaded to the cache that Python's tools share. Weights are mapped, not read:
   *  while the pipeline is open, replace their files by renaming others, but do not write into them or cut them off.
   *  Throws VdError `io`, `weights`, `unsupported`, `attr` or `cancelled`. */
  static async fromPretrained(source: string, options: LoadOptions = {}): Promise<StableVideoDiffusionPipeline> {
    const load = checkLoad(source, options);
    const start = performance.now();
    const elapsedUs = () => (performance.now() - start) * 1000;
    const denoiser = await chosenDenoiser(options, load.device);
    const { dir } = await resolveModel(source, {
      ...options.hub,
      dtype: load.format,
      signal: options.signal,
      onProgress: ({ file, receivedTotalBytes, totalBytes }) =>
        options.onProgress?.({
          stage: "download",
          step: receivedTotalBytes,
          steps: totalBytes,
          elapsedUs: elapsedUs(),
          message: file,
        }),
    });
    if ((await stat(dir)).isFile()) return StableVideoDiffusionPipeline.fromSingleFile(dir, options);
    options.onProgress?.({ stage: "load", step: 0, steps: 1, elapsedUs: elapsedUs(), message: dir });
    throwIfCancelled(options.signal);
    const components = await openModelFolder(dir, load.format);
    const pipeline = await StableVideoDiffusionPipeline.make(components, load, denoiser);
    options.onProgress?.({ stage: "load", step: 1, steps: 1, elapsedUs: elapsedUs(), message: dir });
    return pipeline;
  }

  /** Opens a checkpoint in one .safetensors file with the original names (`model.diffusion_model.…`,
   *  `first_stage_model.…`, `conditioner.…`); configurations follow from the shapes. Throws as fromPretrained. */
  static async fromSingleFile(path: string, options: LoadOptions = {}): Promise<StableVideoDiffusionPipeline> {
    const load = checkLoad(path, options);
    const denoiser = await chosenDenoiser(options, load.device);
    return StableVideoDiffusionPipeline.make(openSingleFile(path, options.singleFile), load, denoiser);
  }

  /** What a generation with these options would need. Nothing is generated. Throws VdError `attr`. */
  async plan(options: GenerateOptions): Promise<GenerationPlan> {
    const context = await this.context(options);
    return estimate(context.device, await layoutAll(context));
  }

  /** Generates a video. The same options and seed give the same bytes. Throws VdError: before any work `attr` for a
   *  wrong option, `memory` for a video that cannot fit into this machine; then `io` for a picture that cannot be read
   *  or weights that were written to since they were opened, `cancelled` within a step of the signal. */
  async generate(options: GenerateOptions): Promise<GeneratedVideo> {
    this.check(options);
    if (this.busy)
      throw new VdError({
        code: "unsupported",
        where: "generate",
        expected: "one generation of a pipeline at a time",
        got: "a second one",
        hint: "Await the first, or open a second pipeline.",
      });
    this.busy = true;
    try {
      const { scratch } = this;
      // Parts of a generation that fails may go on for a moment: nobody else gets what they write to.
      this.scratch = new Scratch();
      const run = async () => generateIn(await this.context(options, scratch));
      const video = await observed(options.profiler, "generate", run);
      if (this.opened) this.scratch = scratch;
      return video;
    } finally {
      this.busy = false;
    }
  }

  /** Ends the use of the pipeline and lets go of the mapped weights; a generation under way goes on to its end. A
   *  second call does nothing. */
  dispose(): void {
    // A device that was lost meanwhile has nothing to let go of.
    const { device, denoiser } = this.opened ?? {};
    for (const each of [device, denoiser?.kind === "own" ? denoiser.device : undefined])
      each?.trim().catch(() => undefined);
    this.opened = undefined;
    this.recorded = undefined;
    this.scratch = new Scratch();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Layouts of the last shape are kept: generations of one size record their stages once. */
  private layoutsOf(shape: StageShape): StageLayouts {
    const key = JSON.stringify({ ...shape, decodeChunk: undefined });
    if (this.recorded?.key !== key) this.recorded = { key, layouts: new StageLayouts() };
    return this.recorded.layouts;
  }

  /** The open model and the options as they count for it. Throws VdError `unsupported`, `attr`. */
  private check(options: GenerateOptions): { opened: OpenModel; factor: number; checked: CheckedOptions } {
    const { opened } = this;
    if (!opened)
      throw new VdError({
        code: "unsupported",
        where: "pipeline",
        expected: "an open pipeline",
        got: "a disposed one",
        hint: "Open the model again.",
      });
    const factor = spatialFactor(opened.models.vae.config);
    return { opened, factor, checked: checkOptions(options, this.defaults, factor) };
  }

  /** Everything that a generation works with. The event loop turns between its parts. */
  private async context(options: GenerateOptions, scratch = new Scratch()): Promise<GenerationContext> {
    const { opened, factor, checked } = this.check(options);
    const { components, models, device, precision, tuning, denoiser } = opened;
    const shape = stageShape(checked, factor, precision);
    const layouts = this.layoutsOf(shape);
    await ownTurn();
    const sampling = await samplingFor(components, checked, precision);
    // A profiler adds up what runs one after the other, and little memory is for one stage at a time.
    const overlap = device.kind === "cuda" && checked.memory === "full" && !options.profiler;
    const choices = { precision, tuning, checked, options, sampling, overlap };
    return { device, components, models, shape, layouts, scratch, denoiser, ...choices };
  }
}

async function generateIn(context: GenerationContext): Promise<GeneratedVideo> {
  const layouts = await observed(context.options.profiler, "plan", () => layoutAll(context));
  // A GPU refuses at once what it does not have.
  if (context.device.kind === "cpu") checkMemory(layouts);
  return new Generation(context).run();
}

/** What denoises by the options; a fallback is told to `onProgress`. */
function chosenDenoiser({ denoiser, onProgress }: LoadOptions, device: Device): Promise<ChosenDenoiser | undefined> {
  return chooseDenoiser(denoiser, device, (message) =>
    onProgress?.({ stage: "load", step: 0, steps: 1, elapsedUs: 0, message }),
  );
}

/** What decides the stages of a generation besides its shape. */
function stageCounts({ components, checked, sampling, layouts }: GenerationContext): StageCounts {
  return {
    clipSize: components.clipPixels.size,
    numModelCalls: sampling.sampler.numModelCalls,
    stepNeeds: stepNeeds(sampling),
    clipFrames: checked.isolateDecodeChunks ? checked.decodeChunk : undefined,
    layouts,
  };
}

/** Weights of the stages before decoding, which stay on the device unless its memory is short. */
async function weightsBefore(context: GenerationContext): Promise<number> {
  const { models, shape, checked, layouts, options } = context;
  if (checked.memory === "low") return 0;
  let sum = 0;
  for (const [stage] of stagesBefore(models, shape, stageCounts(context)))
    sum += (await layouts.inSlices(stage, options.signal)).memory.weightBytes;
  return sum;
}

/** Decides how many frames are decoded at a time, where the caller leaves it open. */
async function settleDecodeChunk(context: GenerationContext): Promise<void> {
  const { models, shape, device, layouts, checked } = context;
  if (checked.decodeChunk !== undefined) return;
  const residentBytes = await weightsBefore(context);
  const options = { device, layouts, memory: checked.memory, residentBytes, signal: context.options.signal };
  context.shape = { ...shape, decodeChunk: await chooseDecodeChunk(models, shape, options) };
}

/** All stages of a generation, planned. */
async function layoutAll(context: GenerationContext): Promise<CountedLayout[]> {
  await settleDecodeChunk(context);
  return layoutGeneration(context.models, context.shape, stageCounts(context), context.options.signal);
}
