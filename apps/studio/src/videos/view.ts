import type { VideoMoment, VideoProgress } from "./events";
import type { VideoRecord } from "./record";
import { variantsOf } from "./variants";

/** A video as the API shows it: OpenAI's object with our settings beside it. */
export type VideoView = ReturnType<typeof viewOf>;

const seconds = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1000));

const PERCENT = 100;

function percentOf({ status }: VideoRecord, progress: VideoProgress | undefined): number {
  if (status === "completed") return PERCENT;
  return status === "in_progress" ? Math.floor((progress?.fraction ?? 0) * PERCENT) : 0;
}

/** Writes seconds as OpenAI does, as a text; those of half a frame are not cut off. */
const secondsText = ({ settings: { numFrames, fps } }: VideoRecord): string =>
  String(Number((numFrames / fps).toFixed(3)));

/** Returns what the API shows of a video. position: how many are served before it, null where it does not wait. */
export function viewOf(video: VideoRecord, { progress }: VideoMoment = {}, position: number | null = null) {
  const { status, settings, result } = video;
  const { width, height, crop } = video.picture;
  // One plain literal: objects that are put together of others take engines ten times as long, and lists have many of these.
  return {
    id: video.id,
    object: "video" as const,
    status,
    progress: percentOf(video, progress),
    created_at: seconds(video.createdAt)!,
    started_at: seconds(video.startedAt),
    completed_at: seconds(video.completedAt),
    expires_at: null,
    model: video.model,
    prompt: video.prompt,
    seconds: secondsText(video),
    size: `${settings.width}x${settings.height}`,
    error: video.error,
    remixed_from_video_id: video.source,
    settings,
    phase: status === "in_progress" ? (progress ?? null) : null,
    queue_position: status === "queued" ? position : null,
    priority: video.priority,
    attempts: video.attempts,
    picture: { width, height, crop },
    timings: result?.timings ?? null,
    peak_bytes: result?.peakBytes ?? null,
    spritesheet: result?.spritesheet ?? null,
    variants: variantsOf(video),
    profile: video.profile,
    metadata: video.metadata,
    webhook: video.webhook,
  };
}
