import { readFile } from "node:fs/promises";
import { loadImage } from "@vd/media";
import { createProfiler } from "@vd/profiler";
import type { GenerateOptions } from "@vd/svd-pipeline";
import { OverallClock, type StageEvent } from "@vd/svd-pipeline/progress";
import type { VideoProgress } from "../videos/events";
import type { VideoResult } from "../videos/record";
import type { WorkerNotice, WorkOrder } from "./messages";
import type { OpenPipeline } from "./pipelines";
import { previewOf } from "./preview";
import { resumeOption } from "./resume";
import { writeFiles } from "./write-files";

const US = 1e6;

/** What a video is made with. */
export interface MakeContext {
  pipelines: OpenPipeline;
  signal: AbortSignal;
  tell(notice: WorkerNotice): void;
}

/** Tells of progress over the whole run; a download, which is no part of it, shows as loading. */
function progressTeller(clock: OverallClock, tell: MakeContext["tell"]) {
  return (event: StageEvent) => {
    clock.update(event);
    const { fraction, etaUs } = clock.pace();
    const phase: VideoProgress["phase"] = event.stage === "download" ? "load" : event.stage;
    const etaSeconds = etaUs === undefined ? null : etaUs / US;
    const { step, steps } = event;
    tell({ type: "progress", progress: { phase, step, steps, fraction, etaSeconds } });
  };
}

/** The options of a generation that a video's settings are. */
export const optionsOf = ({ settings }: Pick<WorkOrder, "settings">): Omit<GenerateOptions, "image"> => ({
  ...(settings as object),
  seed: BigInt(settings.seed),
});

/**
 * Makes a video and writes its files into `order.output`.
 *
 * @throws VdError `cancelled` by the signal, and what opening and generating throw
 */
export async function makeVideo(order: WorkOrder, context: MakeContext): Promise<VideoResult> {
  const { signal, tell } = context;
  const clock = new OverallClock(() => performance.now() * 1000);
  const onProgress = progressTeller(clock, tell);
  const pipeline = await context.pipelines.of(order.model, { signal, onProgress });
  const size = { width: order.settings.width, height: order.settings.height };
  const given = { ...optionsOf(order), image: await loadImage(await readFile(order.picture), size), signal };
  clock.expect((await pipeline.plan(given)).stages);
  const profiler = order.profile ? createProfiler() : undefined;
  const previews = lookAhead(order, context);
  const options = { ...given, onProgress, profiler, ...resumeOption(order.steps), ...previews.options };
  const video = await pipeline.generate(options as GenerateOptions);
  onProgress({ stage: "write", step: 0, steps: 1, elapsedUs: 0 });
  const files = await writeFiles(order.output, video, { signal, profiler });
  await previews.settled();
  onProgress({ stage: "write", step: 1, steps: 1, elapsedUs: 0 });
  const timings = Object.fromEntries(Object.entries(video.timings).map(([name, us]) => [name, us / US]));
  return { timings, peakBytes: video.peakBytes, ...files };
}

/** Tells of previews; while one is encoded the next ones are left out, so that none delays the work. */
function lookAhead({ previewEvery, settings }: WorkOrder, { tell }: MakeContext) {
  let encoding: Promise<void> | undefined;
  const onPreview: GenerateOptions["onPreview"] = (preview) => {
    if (encoding) return;
    // The pipeline may use the buffer again as soon as this returns.
    encoding = previewOf({ ...preview, frames: preview.frames.slice() }, Number(settings.steps))
      .then((shown) => tell({ type: "preview", preview: shown }))
      // A preview that fails is not missed.
      .catch(() => {})
      .finally(() => {
        encoding = undefined;
      });
  };
  return {
    options: previewEvery > 0 ? { onPreview, previewEvery } : {},
    settled: async () => encoding,
  };
}
