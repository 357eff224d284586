import { systemCode } from "@vd/tensor";
import { isNoRoom, NO_ROOM } from "../files/no-room";
import type { VideoFiles } from "../files/video-files";
import type { VideoEvent } from "../videos/events";
import type { VideoRecord, VideoResult } from "../videos/record";
import type { ModelPlace, WorkFailure } from "./messages";
import type { WorkerProcess } from "./worker-process";

/** What an attempt at a video works with. */
export interface AttemptContext {
  worker: WorkerProcess;
  files: VideoFiles;
  modelOf(id: string): ModelPlace;
  /** Cancels. */
  signal: AbortSignal;
  tell(event: VideoEvent): void;
}

/** How an attempt ended. */
export type AttemptEnd =
  | { type: "done"; result: VideoResult }
  | { type: "failed"; failure: WorkFailure }
  | { type: "crashed"; message: string };

/** Makes a video once, from its folders to its committed files. Never rejects. */
export async function attempt(video: VideoRecord, context: AttemptContext): Promise<AttemptEnd> {
  try {
    return await tryOnce(video, context);
  } catch (error) {
    // What is left of it would fill the disk that is full.
    await context.files.tidy(video.id).catch(() => {});
    return { type: "failed", failure: failureOf(error) };
  }
}

/** Says what happened to files without the paths of this machine. */
function failureOf(error: unknown): WorkFailure {
  const code = systemCode(error);
  if (isNoRoom(error)) return NO_ROOM;
  return {
    code: "io",
    message: code ? `The server could not keep the files of this video (${code}).` : (error as Error).message,
  };
}

async function tryOnce(
  video: VideoRecord,
  { worker, files, modelOf, signal, tell }: AttemptContext,
): Promise<AttemptEnd> {
  const { id, owner, settings, previewEvery, profile } = video;
  const folders = await files.begin(id, video.attempts);
  const order = { id, model: modelOf(video.model), settings, ...folders, previewEvery, profile };
  const cancel = () => worker.cancel();
  const made = worker.make(order, (notice) => {
    if (notice.type === "progress") tell({ type: "progress", id, owner, progress: notice.progress });
    else tell({ type: "preview", id, owner, preview: notice.preview });
  });
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  const outcome = await made.finally(() => signal.removeEventListener("abort", cancel));
  if (outcome.type === "crashed") {
    await files.discard(id, folders.output);
    return outcome;
  }
  // The files of a video that was cancelled, and perhaps deleted, at the last moment are nobody's.
  const isDone = outcome.type === "done" && !signal.aborted;
  const end: AttemptEnd = isDone
    ? { type: "done", result: await files.commit(id, folders.output, outcome.result) }
    : outcome.type === "failed"
      ? outcome
      : { type: "failed", failure: { code: "cancelled", message: "The video was cancelled." } };
  await files.tidy(id);
  return end;
}
