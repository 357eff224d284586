import { VdError } from "@vd/kernels-native";
import { observed, withCallbacks } from "@vd/tensor";
import { spatialFactor } from "@vd/vae-opt";
import type { ChosenDenoiser } from "./denoising/denoiser";
import { estimateTeam } from "./devices/estimate-team";
import { numberedOptions, removeStates, resultBytes, withOwnState } from "./generation/batch";
import type { GenerationContext, SharedPicture } from "./generation/context";
import { EndlessVideo } from "./generation/endless/endless-video";
import type { EndlessOptions } from "./generation/endless/types";
import { checkResultBytes } from "./generation/estimate";
import { type CheckedRequest, makeContext } from "./generation/make-context";
import { type GenerationState, withState } from "./generation/resume/generation-state";
import { estimateStages, runGeneration } from "./generation/run-generation";
import { Scratch } from "./generation/scratch";
import { generationEvents } from "./generation/stream";
import { Turns } from "./generation/turns";
import { type LoraChoice, mergeLoras, readLoras, type WeightedLora } from "./lora/merge-loras";
import type { ModelComponents } from "./opening/components";
import { notOpenedError } from "./opening/not-opened";
import { changedModels, type OpenModel, openModel, openModelFile } from "./opening/open-model";
import { warnProcess } from "./opening/warnings";
import { type BatchJob, batchJobs } from "./options/check-batch";
import { checkOptions, modelDefaults } from "./options/check-generate";
import { checkTable } from "./options/check-table";
import { LOAD_TABLE } from "./options/load-table";
import type { CalibrateOptions, Calibration } from "./precision/calibration/calibrate";
import { calibrateModel } from "./precision/calibration/calibrate-model";
import { requireCalibratable } from "./precision/calibration/require-calibratable";
import type { ConvolutionMethod } from "./precision/convolutions";
import { openEightBits } from "./precision/eight-bits";
import type { StageShape } from "./stages/definitions";
import { PinnedWeights } from "./stages/pinned-weights";
import { StageLayouts } from "./stages/stage";
import type {
  BatchOptions,
  GenerateDefaults,
  GeneratedVideo,
  GenerateOptions,
  GenerationEstimate,
  GenerationEvent,
  LoadOptions,
} from "./types";

function defaultsOf({ sampleSize, unet, vae, distilled }: ModelComponents): GenerateDefaults {
  const { numFrames } = unet.config;
  return modelDefaults({ sampleSize, factor: spatialFactor(vae.config), numFrames, distilled });
}

/**
 * Stable Video Diffusion: a picture in, a video out. Generations of one pipeline wait for each other, in the order of the calls.
 *
 * @example
 * ```ts
 * import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
 *
 * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
 * const video = await pipeline.generate({ image: "models/tiny-svd/samples/one-ball.png", numFrames: 4, seed: 42 });
 * console.log(video.numFrames, video.width, video.height, video.frame(0).length);
 * pipeline.dispose();
 * ```
 */
export class StableVideoDiffusionPipeline {
  readonly defaults: GenerateDefaults;
  private opened: OpenModel | undefined;
  private readonly turns = new Turns();
  private recorded: { key: string; layouts: Map<ConvolutionMethod | undefined, StageLayouts> } | undefined;
  private scratch = new Scratch();
  private readonly pinned = new PinnedWeights();
  /** What the process was warned of. */
  private readonly warned = new Set<string>();

  private constructor(opened: OpenModel) {
    // Programs in JavaScript can call this; types do not stop them.
    if (opened?.components === undefined) throw notOpenedError();
    this.opened = opened;
    this.defaults = defaultsOf(opened.components);
  }

  /** A pipeline of an opened model, with the LoRAs that were asked for. */
  private static async of(opened: OpenModel, loras: readonly LoraChoice[]): Promise<StableVideoDiffusionPipeline> {
    const pipeline = new StableVideoDiffusionPipeline(opened);
    if (loras.length > 0) await pipeline.loadLoras(loras);
    return pipeline;
  }

  /**
   * Opens a model folder in the standard layout, or a model of the Hugging Face Hub (`org/name` or
   * `org/name@revision`), which is downloaded to the cache that Python's tools share. Weights are mapped, not read:
   * while the pipeline is open, replace their files by renaming others, but do not write into them or cut them off.
   *
   * @throws VdError `io`, `weights`, `unsupported`, `attr` or `cancelled`
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained(
   *   "stabilityai/stable-video-diffusion-img2vid-xt",
   *   { device: "cuda", onProgress: ({ stage, step, steps }) => console.log(stage, step, steps) },
   * );
   * ```
   */
  static fromPretrained(source: string, options: LoadOptions = {}): Promise<StableVideoDiffusionPipeline> {
    return withCallbacks(options, ["onProgress"], "opening", (watched) =>
      openModel(source, watched, StableVideoDiffusionPipeline.of),
    );
  }

  /**
   * Opens a checkpoint in one .safetensors file with the original names (`model.diffusion_model.…`,
   * `first_stage_model.…`, `conditioner.…`); configurations follow from the shapes.
   *
   * @throws VdError as {@link fromPretrained}
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromSingleFile("svd_xt.safetensors", { device: "cuda" });
   * ```
   */
  static fromSingleFile(path: string, options: LoadOptions = {}): Promise<StableVideoDiffusionPipeline> {
    return withCallbacks(options, ["onProgress"], "opening", (watched) =>
      openModelFile(path, watched, StableVideoDiffusionPipeline.of),
    );
  }

  /**
   * Returns what a generation with these options would need. Nothing is generated.
   *
   * @throws VdError `attr`
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
   * const { peakBytes, estimatedUs } = await pipeline.plan({ image: "start.png", numFrames: 14 });
   * console.log(peakBytes / 2 ** 20, "MiB", estimatedUs / 1e6, "s");
   * ```
   */
  async plan(options: GenerateOptions): Promise<GenerationEstimate> {
    const context = await this.context(options);
    const { warnings } = context;
    const estimated = context.team ? await estimateTeam(context) : await estimateStages(context);
    return { ...estimated, warnings };
  }

  /**
   * Generates a video. The same options and seed give the same bytes.
   *
   * @throws VdError before any work `attr` for a wrong option, `memory` for a video that cannot fit into this machine;
   *   then `io` for a picture that cannot be read or weights that were written to since they were opened, `cancelled`
   *   within a step of the signal, on a GPU within two where a step takes less than half a second
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
   * const video = await pipeline.generate({
   *   image: "start.png",
   *   steps: 25,
   *   seed: 42,
   *   signal: AbortSignal.timeout(600_000),
   *   onProgress: ({ stage, step, steps }) => console.log(stage, step, steps),
   * });
   * for (const { width, height, data } of video) console.log(width, height, data.length);
   * ```
   * A generation that a crash or `kill -9` must not cost more than a step; the same call goes on where the last one stood:
   * ```ts
   * await pipeline.generate({ image: "start.png", resume: "clip.state" });
   * ```
   */
  async generate(options: GenerateOptions): Promise<GeneratedVideo> {
    this.check(options);
    return this.turns.run(() => this.generateOne(options), options.signal, "generation");
  }

  /**
   * Generates a video and yields what happens meanwhile: progress, previews (where `previewEvery` or `onPreview` asks for them),
   * frames as they are decoded, and the video last. Leaving the loop cancels the generation.
   *
   * @throws VdError as {@link generate}
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
   * for await (const event of pipeline.stream({ image: "start.png", previewEvery: 5 })) {
   *   if (event.type === "progress") console.log(event.stage, event.step, event.steps);
   *   if (event.type === "video") await event.video.save("clip.mp4");
   * }
   * ```
   */
  stream(options: GenerateOptions): AsyncGenerator<GenerationEvent, void, undefined> {
    return generationEvents(options, (watched) => this.generate(watched));
  }

  /**
   * Generates videos of several pictures, with several seeds or several times, by one call: one after the other, for the memory of
   * one. Videos of one picture and seed encode the picture once. Results are in the order of the pictures, and for each picture in
   * that of its videos; progress events say which video they are about.
   *
   * @throws VdError as {@link generate}, before any work for any of the videos; `memory` where all results together do not fit
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
   * const videos = await pipeline.generateBatch({ images: ["a.png", "b.png"], seeds: [1, 2], videosPerPicture: 2 });
   * console.log(videos.length, videos.map(({ seed }) => seed)); // 4 [ 1n, 1n, 2n, 2n ]
   * ```
   */
  async generateBatch(options: BatchOptions): Promise<GeneratedVideo[]> {
    const jobs = batchJobs(options);
    const checked = jobs.map((job) => this.check(job.options).checked);
    checkResultBytes(jobs.reduce((sum, { numVideos }, i) => sum + numVideos * resultBytes(checked[i]!), 0));
    return this.turns.run(() => this.generateJobs(jobs), options.signal, "generation");
  }

  /**
   * Begins a video without an end: each clip goes on from the last frames of the one before, or begins with a new picture. Memory stays
   * that of one clip.
   *
   * @throws VdError as {@link generate} before any work; `unsupported` with several devices
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
   * const video = await pipeline.endless({ image: "start.png", seed: 42 });
   * for (let i = 0; i < 10; i++) {
   *   const clip = await video.nextClip(i === 5 ? { motionBucketId: 180 } : {});
   *   console.log(clip.first, clip.numFrames, clip.frames.length);
   * }
   * await video.close();
   * ```
   */
  endless(options: EndlessOptions): Promise<EndlessVideo> {
    return EndlessVideo.open(options, {
      context: (wanted, scratch) => this.context(wanted, scratch, true),
      inTurn: (work, signal) => this.turns.run(work, signal, "endless video"),
      warn: (context) => this.tellWarnings(context),
    });
  }

  private async generateJobs(jobs: readonly BatchJob[]): Promise<GeneratedVideo[]> {
    const numVideos = jobs.reduce((sum, job) => sum + job.numVideos, 0);
    const videos: GeneratedVideo[] = [];
    for (const job of jobs) {
      const shared: SharedPicture = { part: { index: 0, count: job.numVideos } };
      for (let index = 0; index < job.numVideos; index++) {
        shared.part = { index, count: job.numVideos };
        const numbered = numberedOptions(job.options, videos.length + 1, numVideos);
        videos.push(await this.generateOne(withOwnState(numbered, videos.length + 1), shared));
      }
    }
    await removeStates(jobs[0]!.options, numVideos);
    return videos;
  }

  /** Generates a video; one with a state goes on from there, and the state goes when the video is there. */
  private generateOne(options: GenerateOptions, shared?: SharedPicture): Promise<GeneratedVideo> {
    return withState(options, (resumed, state) => this.generateNow(resumed, shared, state));
  }

  private async generateNow(
    options: GenerateOptions,
    shared: SharedPicture | undefined,
    state: GenerationState | undefined,
  ): Promise<GeneratedVideo> {
    const { scratch } = this;
    // Parts of a generation that fails may go on for a moment: the next generation gets arrays that they do not write to.
    this.scratch = new Scratch();
    // Videos of one call follow each other within its turn.
    const onRest = shared ? undefined : (rest: Promise<void>) => this.turns.extend(rest);
    const run = () =>
      withCallbacks(options, ["onProgress", "onPreview", "onFrames", "onWarning"], "generation", async (watched) =>
        this.warnAndGenerate({ ...(await this.context(watched, scratch)), shared, state, onRest }),
      );
    const device = this.opened?.device;
    const video = await observed(options.profiler, "generate", run);
    if (this.opened) this.scratch = scratch;
    // Disposed of meanwhile, while this generation used them.
    else if (device && this.pinned.bytes > 0) await this.pinned.release(device);
    return video;
  }

  /**
   * Merges LoRAs into the model, beside those that are merged already: .safetensors files, or folders, in the names of PEFT, diffusers or
   * kohya. The sums are made when weights are packed; the model's files stay as they are. A generation under way ends with the weights
   * that it began with.
   *
   * @throws VdError `attr` for something else than a list of LoRAs, `io`, `weights` naming unknown keys and shapes that do not fit,
   *   `unsupported` for DoRA and other methods; the model then stays as it was
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
   * await pipeline.loadLoras([{ path: "calm.safetensors", weight: 0.8 }, { path: "style.safetensors" }]);
   * await pipeline.unloadLoras(); // the model's own weights again, bit by bit
   * ```
   */
  async loadLoras(loras: readonly LoraChoice[], signal?: AbortSignal): Promise<void> {
    checkTable("loadLoras", { loras: LOAD_TABLE.loras }, { loras });
    const read = await readLoras(loras, signal);
    await this.turns.run(() => this.useLoras([...this.requireOpen().loras, ...read]), signal, "loadLoras");
  }

  /** Takes all LoRAs out of the model: its weights are those of its files again, bit by bit. */
  async unloadLoras(): Promise<void> {
    await this.turns.run(() => this.useLoras([]), undefined, "unloadLoras");
  }

  /** The model's folder or file. */
  get source(): string {
    return this.requireOpen().components.source;
  }

  /**
   * Finds out what `precision` wants to know of the model's layers: generates latents of some pictures, keeps the largest magnitudes of what
   * the layers take, and chooses smoothing against outliers by the error of each layer. `saveCalibration` writes the table.
   *
   * @throws VdError `unsupported` for a pipeline with layers in 8 bits, several devices or a denoiser that runs elsewhere, `attr` without
   *   pictures, and as {@link generate}
   * @example
   * ```ts
   * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd");
   * const { table } = await pipeline.calibrate({ images: ["a.png", "b.png"], steps: 10 });
   * await saveCalibration("models/tiny-svd/calibration.json", table);
   * ```
   */
  async calibrate(options: CalibrateOptions): Promise<Calibration> {
    const opened = this.requireOpen();
    requireCalibratable(opened, options.images);
    const generate = async (given: GenerateOptions, denoiser: ChosenDenoiser) =>
      this.warnAndGenerate({ ...(await this.context({ ...given })), denoiser, calls: undefined });
    const given = { steps: this.defaults.steps, ...options };
    return this.turns.run(() => calibrateModel(opened, generate, given), options.signal, "calibrate");
  }

  private async useLoras(loras: readonly WeightedLora[]): Promise<void> {
    const opened = this.requireOpen();
    const components = mergeLoras(opened.original.components, loras);
    // What there is to warn of was told when the model was opened.
    const eightBits = opened.eightBits && (await openEightBits({ ...opened, components }));
    const models = loras.length > 0 ? await changedModels(components, eightBits) : opened.original.models;
    if (!this.opened) return;
    this.opened = { ...opened, components, models, loras, eightBits };
    this.recorded = undefined;
    await this.pinned.release(opened.device);
  }

  private warnAndGenerate(context: GenerationContext): Promise<GeneratedVideo> {
    this.tellWarnings(context);
    return runGeneration(context);
  }

  private tellWarnings({ warnings, options }: GenerationContext): void {
    for (const message of warnings) {
      if (options.onWarning) options.onWarning(message);
      else if (!this.warned.has(message)) warnProcess(message);
      this.warned.add(message);
    }
  }

  /** Ends the use of the pipeline and releases the mapped weights; a generation under way goes on to its end. A
   *  second call does nothing. */
  dispose(): void {
    // A device that was lost meanwhile holds nothing any more.
    const { device, team, denoiser } = this.opened ?? {};
    const devices = team?.members.map((member) => member.device) ?? [device];
    const used = [...devices, denoiser?.kind === "own" ? denoiser.device : undefined];
    this.turns.whenOver(() => {
      for (const each of used) each?.trim().catch(() => undefined);
    });
    this.opened = undefined;
    this.recorded = undefined;
    this.scratch = new Scratch();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Layouts of the last shape are kept, for each way of convolving that was looked at: generations of one size record their stages once. */
  private layoutsOf(shape: StageShape): StageLayouts {
    const { convolutions } = shape;
    const key = JSON.stringify({ ...shape, decodeChunk: undefined, convolutions: undefined });
    if (this.recorded?.key !== key) this.recorded = { key, layouts: new Map() };
    const layouts = this.recorded.layouts.get(convolutions) ?? new StageLayouts();
    this.recorded.layouts.set(convolutions, layouts);
    return layouts;
  }

  /**
   * The open model and the options as they count for it.
   *
   * @throws VdError `unsupported`, `attr`
   */
  private check(options: GenerateOptions): CheckedRequest {
    const opened = this.requireOpen();
    const factor = spatialFactor(opened.models.vae.config);
    return { opened, factor, checked: checkOptions(options, this.defaults, factor) };
  }

  private requireOpen(): OpenModel {
    if (this.opened) return this.opened;
    const [expected, got] = ["an open pipeline", "a disposed one"];
    throw new VdError({ code: "unsupported", where: "pipeline", expected, got, hint: "Open the model again." });
  }

  /** Everything that a generation works with. The event loop turns between its parts. */
  private context(wanted: GenerateOptions, scratch = new Scratch(), keepsStages = false): Promise<GenerationContext> {
    const { pinned, defaults } = this;
    const layoutsOf = (shape: StageShape) => this.layoutsOf(shape);
    return makeContext(this.check(wanted), wanted, {
      scratch,
      pinned,
      layoutsOf,
      usualSteps: defaults.steps,
      keepsStages,
    });
  }
}
