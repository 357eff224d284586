import type { Rectangle } from "@vd/media";

/** Where a video stands. A cancelled one is `failed` with the error code `cancelled`, as clients of OpenAI know no other end. */
export type VideoStatus = "queued" | "in_progress" | "completed" | "failed";

/** Whose turn comes first; within one priority keys take turns. */
export const PRIORITIES = ["high", "normal", "low"] as const;

/** One of {@link PRIORITIES}. */
export type Priority = (typeof PRIORITIES)[number];

/** Settings of a video as JSON, defaults filled in: every option that decides it, the seed as a text. */
export type VideoSettings = Readonly<Record<string, unknown>> & {
  readonly width: number;
  readonly height: number;
  readonly numFrames: number;
  readonly fps: number;
  readonly seed: string;
};

/** The picture that is animated. */
export interface PictureInfo {
  width: number;
  height: number;
  /** `image/png` */
  mediaType: string;
}

/** What a video has when it is done. */
export interface VideoResult {
  /** Seconds by stage. */
  timings: Readonly<Record<string, number>>;
  peakBytes: number;
  spritesheet: { columns: number; rows: number; width: number; height: number };
  /** Names of its files. */
  files: readonly string[];
}

/** Who is told of a video's end, and how far that has come. */
export interface WebhookState {
  url: string;
  /** `pending` until the first try, `retrying` while further ones come, `failed` when none comes any more. */
  status: "pending" | "retrying" | "delivered" | "failed";
  /** Tries so far. */
  attempts: number;
  /** Why the last try failed, a sentence for people; null where none did. */
  lastError: string | null;
}

/** Everything that is kept of a video, as JSON. */
export interface VideoRecord {
  id: string;
  /** The id of the key that asked for it; {@link LOCAL_OWNER} without one. */
  owner: string;
  status: VideoStatus;
  /** Milliseconds since 1970. */
  createdAt: number;
  startedAt: number | null;
  completedAt: number | null;
  model: string;
  prompt: string | null;
  settings: VideoSettings;
  picture: PictureInfo & { crop: Rectangle };
  priority: Priority;
  /** Its turn among those of the same priority; see `fairness.ts`. */
  turn: number;
  /** How often its work was begun. */
  attempts: number;
  /** How often a worker process ended in the midst of it by itself. */
  crashes: number;
  /** 0 for no previews. */
  previewEvery: number;
  profile: boolean;
  webhook: WebhookState | null;
  metadata: Readonly<Record<string, string>>;
  /** The video that this one goes on from. */
  source: string | null;
  error: { code: string; message: string } | null;
  result: VideoResult | null;
}

/** Whose videos are those that were asked for without a key, on this machine. */
export const LOCAL_OWNER = "local";

/** True for a video whose status will not change any more. */
export const hasEnded = ({ status }: Pick<VideoRecord, "status">): boolean =>
  status === "completed" || status === "failed";
