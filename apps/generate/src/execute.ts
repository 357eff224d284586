import { resolve } from "node:path";
import {
  checkOutput,
  defaultPreviewPath,
  type OutputTarget,
  outputTarget,
  type RgbImage,
  requireStorable,
  type VideoFrames,
  type WriteOptions,
  type WrittenVideo,
  writeVideo,
} from "@vd/media";
import type { Profiler } from "@vd/profiler";
import type { Continuity, GeneratedVideo, ProgressEvent } from "@vd/svd-pipeline";
import { drawSeed, valueError } from "@vd/svd-pipeline/options";
import { checkPlace } from "@vd/tensor";
import type { Context } from "./dependencies";
import { checkDuration, withDuration } from "./duration";
import { continuing, joined, readClip } from "./extend";
import { bundledPicture } from "./model/bundled";
import { type RunOptions, runOptions } from "./model/defaults";
import type { Pipeline } from "./model/factory";
import { checkLoras, parseLoras } from "./model/loras";
import { modelSource } from "./model/source";
import { type PicturedModel, warnOfForeignPicture } from "./model/world";
import { consentTo } from "./models/consent";
import { readPicture } from "./picture";
import { checkPreviewPath, type Preview, type PreviewWriter, previewInterval, previewWriter } from "./preview";
import { checkProfilePath, startProfile, writeProfile } from "./profile";
import { checkRepeated, recipeText } from "./repeat";
import { paintFor } from "./report/colours";
import { writeEvent } from "./report/json";
import { planTable } from "./report/plan-table";
import type { Reporter } from "./report/reporter";
import { type RunSummary, summaryText } from "./report/summary";
import { findState, forgetState, isFinished, type Resuming, tellFinished } from "./resume";
import type { Settings } from "./settings";

/** Everything that was found out before a model is loaded. */
export interface Preparation extends PicturedModel {
  /** The frames of the video to go on from. */
  clip: RgbImage[] | undefined;
  /** The picture that the video ends with. */
  last: RgbImage | undefined;
  target: OutputTarget;
  previewPath: string | undefined;
  write: WriteOptions;
  /** What is kept, and gone on from; undefined without `--resume`. */
  resuming: Resuming | undefined;
}

/**
 * Loads the model, generates, writes the file and tells about it; or prints the plan.
 * @throws VdError for everything a user can mend; the signal's reason when it is cancelled.
 */
export async function execute(preparation: Preparation, settings: Settings, context: Context): Promise<void> {
  const startUs = context.io.nowUs();
  const { signal, reporter, pipelineFactory } = context;
  const { target, resuming } = preparation;
  if (resuming && !settings.dryRun && (await isFinished(target, resuming))) return tellFinished(settings, context);
  const warning = await warnOfForeignPicture(preparation, pipelineFactory, signal);
  if (warning) reporter.warning(warning);
  const loadStartUs = context.io.nowUs();
  const profiler = await startProfile(settings.profile);
  const load = () =>
    pipelineFactory.load(preparation.source, {
      ...settings.load,
      loras: parseLoras(settings.lora),
      hub: { onBeforeDownload: consentTo({ ...context, yes: settings.yes, json: settings.json }) },
      signal,
      onProgress: (event) => reporter.progress(event),
    });
  const pipeline = await (profiler ? profiler.scope("open model", load) : load());
  try {
    signal.throwIfAborted();
    const loadUs = context.io.nowUs() - loadStartUs;
    const { picture, clip, last } = preparation;
    const sized = runOptions(settings, pipeline.defaults, picture, clip !== undefined);
    const options = { ...continuing(withDuration(sized, settings), clip), ...(last && { lastImage: last }) };
    requireStorable(preparation.target, options);
    if (settings.dryRun) await printPlan(pipeline, options, preparation, settings, context);
    else await generate(pipeline, options, preparation, settings, context, { startUs, loadUs, profiler });
  } finally {
    pipeline.dispose();
  }
}

/**
 * Checks all that can be checked before a model is loaded: names, formats, files, folders, space, ffmpeg.
 * @throws VdError `attr` for wrong usage, `io` or `unsupported` for what is not there.
 */
export async function prepare(settings: Settings, { ffmpeg, signal, stdin }: Context): Promise<Preparation> {
  checkDuration(settings);
  const target = outputTarget(settings.output, "--output");
  const previewPath = settings.preview === true ? defaultPreviewPath(target) : settings.preview || undefined;
  if (previewPath !== undefined) checkPreviewPath(previewPath);
  const { width = USUAL_USE.width, height = USUAL_USE.height } = settings.generate;
  requireStorable(target, { width, height });
  const source = await modelSource(settings.model);
  await checkLoras(parseLoras(settings.lora));
  const { extend } = settings;
  const image = extend ?? settings.image ?? bundledPicture();
  const clip = extend === undefined ? undefined : await readClip(extend, settings, { ffmpeg, signal });
  const picture = clip?.at(-1) ?? (await readPicture(image, { width, height }, { stdin }));
  const last =
    settings.last === undefined ? undefined : await readPicture(settings.last, { width, height }, { where: "--last" });
  await checkRepeated(settings, { picture, clip, last });
  const write: WriteOptions = {
    ...{ overwrite: settings.overwrite, encoder: settings.encoder, ffmpeg, signal },
    names: { video: "--output", encoder: "--encoder" },
    takenHint: "Choose another name or leave out --no-overwrite.",
  };
  if (settings.profile !== undefined) {
    const hint = "Leave out one of the two";
    if (settings.dryRun) throw valueError("--profile", "a run", "--dry-run", hint);
    await checkProfilePath(settings.profile);
  }
  const resuming = await findState(settings);
  if (!settings.dryRun && !(resuming && (await isFinished(target, resuming)))) {
    await checkOutput(target, write);
    if (previewPath !== undefined) await checkPlace(previewPath, { where: "--preview", overwrite: true });
  }
  return { image, picture, clip, last, target, source, previewPath, write, resuming };
}

/** What a picture is read for while no size is named: the published models' own. */
const USUAL_USE = { width: 1024, height: 576 };

async function printPlan(
  pipeline: Pipeline,
  options: RunOptions,
  { image, picture, target, source }: Preparation,
  settings: Settings,
  { io, reporter }: Context,
): Promise<void> {
  const plan = await pipeline.plan({ ...options, image: picture });
  for (const message of plan.warnings) reporter.warning(asPhrase(message));
  const common = { model: source.name, image, output: settings.output, format: target.format };
  if (settings.json) {
    writeEvent(io, { event: "plan", ...common, ...options, seed: undefined, ...plan });
    return;
  }
  const { width, height, numFrames, fps, steps, minGuidance, maxGuidance } = options;
  const what = `${numFrames} frames of ${width}x${height} at ${fps} fps, ${steps} steps, guidance ${minGuidance}:${maxGuidance}`;
  io.stdout.write(`${common.output}: ${what}\nmodel ${common.model}\nimage ${image}\n\n${planTable(plan)}\n`);
}

async function generate(
  pipeline: Pipeline,
  options: RunOptions,
  { image, picture, clip, last, source, previewPath, target, write, resuming }: Preparation,
  settings: Settings,
  context: Context,
  { startUs, loadUs, profiler }: { startUs: number; loadUs: number; profiler: Profiler | undefined },
): Promise<void> {
  const { io, reporter, signal } = context;
  const seed = options.seed ?? resuming?.seed ?? drawSeed();
  if (settings.json) {
    writeEvent(io, { event: "start", model: source.name, image, output: settings.output, ...options, seed });
  } else if (options.seed === undefined) {
    reporter.note(`Seed ${seed}; --seed ${seed} makes this video again.`);
  }
  // What the parts will take decides how far the bar moves in each of them. A profile shows a run without it.
  if (!settings.json && !settings.quiet && !profiler)
    reporter.expect((await pipeline.plan({ ...options, image, signal })).stages);
  const preview = previewPath === undefined ? undefined : makePreview(previewPath, options.fps, reporter);
  const generating = pipeline.generate({
    ...{ ...options, image: picture, seed },
    ...(resuming && { resume: resuming.dir, keepState: true }),
    ...listeners(context, preview, options.steps),
    ...(profiler && { profiler }),
  });
  const made = await generating.finally(() => preview?.settle());
  const video = await joined(clip, made, options);
  signal.throwIfAborted();
  const writeStartUs = io.nowUs();
  const comment = settings.metadata ? recipeText({ ...options, seed }, settings, { picture, clip, last }) : undefined;
  const encode = () => writeWithProgress(target, video, { ...write, comment }, context);
  const written = await (profiler ? profiler.scope("encode video", encode) : encode());
  if (resuming) await forgetState(resuming, context);
  const { width, height, numFrames, fps } = video;
  const { timings, peakBytes } = made;
  const endUs = io.nowUs();
  await tellProfile(settings.profile, profiler, reporter);
  await finish(target, settings, context, {
    ...{ output: settings.output, format: target.format, encoder: written.encoder, fileBytes: written.fileBytes },
    ...{ model: source.title, numFrames, width, height, fps, seed: made.seed, peakBytes },
    ...{ steps: options.steps, sampler: options.sampler },
    continuity: await continuityOf(made),
    ...{ minGuidance: options.minGuidance, maxGuidance: options.maxGuidance },
    timings: wholeMicroseconds({ load: loadUs, ...timings, write: endUs - writeStartUs }),
    totalUs: endUs - startUs,
    peakRssBytes: await context.peakRssBytes(),
  });
}

/** How a video of several clips goes over their seams. */
async function continuityOf(video: GeneratedVideo): Promise<Continuity | undefined> {
  if (video.seams.length === 0) return undefined;
  const { measureContinuity } = await import("@vd/svd-pipeline");
  return measureContinuity(video);
}

async function tellProfile(
  path: string | undefined,
  profiler: Profiler | undefined,
  reporter: Reporter,
): Promise<void> {
  if (path === undefined || !profiler) return;
  await writeProfile(path, profiler);
  reporter.note(`Where the time went: ${path}`);
}

/** What the pipeline reports to while it generates. */
function listeners({ reporter, signal }: Context, preview: PreviewWriter | undefined, steps: number) {
  return {
    signal,
    onProgress: (event: ProgressEvent) => reporter.progress(event),
    onWarning: (message: string) => reporter.warning(asPhrase(message)),
    ...(preview && {
      previewEvery: previewInterval(steps),
      onPreview: (picture: Preview) => preview.take(picture),
    }),
  };
}

/** A sentence without its full stop, which lines of warnings have already. */
const asPhrase = (sentence: string): string => sentence.replace(/\.$/, "");

function wholeMicroseconds(timings: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(timings).map(([stage, us]) => [stage, Math.round(us)]));
}

async function writeWithProgress(
  target: OutputTarget,
  video: VideoFrames,
  options: WriteOptions,
  { io, reporter }: Context,
): Promise<WrittenVideo> {
  const startUs = io.nowUs();
  const steps = video.numFrames;
  const onFrame = (step: number) => reporter.progress({ stage: "write", step, steps, elapsedUs: io.nowUs() - startUs });
  const written = await writeVideo(target, video, { ...options, onFrame });
  if (written.warning) reporter.warning(written.warning);
  return written;
}

async function finish(
  target: OutputTarget,
  settings: Settings,
  context: Context,
  summary: Omit<RunSummary, "path">,
): Promise<void> {
  const { io, reporter, variables } = context;
  reporter.close();
  const path = settings.isPiped ? "standard output" : resolve(summary.output);
  if (settings.json) writeEvent(io, { event: "done", ...summary, path });
  else if (!settings.quiet) {
    const { stdout } = io;
    stdout.write(summaryText({ ...summary, path }, paintFor(stdout, variables), stdout.columns));
  }
  if (!settings.open) return;
  const shown = target.kind === "frames" ? resolve(target.folder) : path;
  await context.openFile(shown).catch((error: Error) => reporter.warning(`${shown} was not opened: ${error.message}`));
}

function makePreview(path: string, fps: number, reporter: Reporter): PreviewWriter {
  return previewWriter({
    path,
    fps,
    onWritten: (written, step) => reporter.preview(written, step),
    onFailure: (error) => reporter.warning(`no more previews: ${error instanceof Error ? error.message : error}`),
  });
}
