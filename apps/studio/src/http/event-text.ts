import type { VideoEvent } from "../videos/events";
import { hasEnded, type VideoRecord } from "../videos/record";
import type { Studio } from "./studio";
import { viewNow } from "./video-routes";

const written = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Why the server ends a connection that a client would have kept. */
export type ClosedReason = "key_removed" | "draining";

const CLOSED: Readonly<Record<ClosedReason, string>> = {
  key_removed: "The key of this connection was removed.",
  draining: "The server is stopping. Connect again soon.",
};

/** Writes the last event of a connection that the server ends. */
export const closedText = (reason: ClosedReason): string => written("closed", { reason, detail: CLOSED[reason] });

/** True for an event that a client may miss, since the next one says the same better. */
export const mayBeMissed = ({ type }: VideoEvent): boolean => type === "progress" || type === "preview";

async function statusText(video: VideoRecord, studio: Studio): Promise<string> {
  const view = await viewNow(video, studio);
  const status = written("status", view);
  return hasEnded(video) ? status + written(video.status, view) : status;
}

/** Writes an event as server-sent events have it; the end of a video is two. */
export async function eventText(event: VideoEvent, studio: Studio): Promise<string> {
  const { type } = event;
  if (type === "status") return statusText(event.video, studio);
  const { id } = event;
  if (type === "deleted") return written(type, { id });
  if (type === "webhook") return written(type, { id, ...event.webhook });
  return written(type, { id, ...(type === "progress" ? event.progress : event.preview) });
}

/** Writes how a video stands: its status, and the last progress and preview of it. */
export async function standText(video: VideoRecord, studio: Studio): Promise<string> {
  const { id } = video;
  const { progress, preview } = studio.queue.events.momentOf(id);
  const moments = [
    progress ? written("progress", { id, ...progress }) : "",
    preview ? written("preview", { id, ...preview }) : "",
  ];
  return (await statusText(video, studio)) + moments.join("");
}
