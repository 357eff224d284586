/** What the HTTP API answers, as docs/api.md has it. */

/** How far a video is. */
export type VideoStatus = "queued" | "in_progress" | "completed" | "failed";

/** A value of an option; seeds are texts, since numbers of JSON end at 2^53. */
export type OptionValue = number | string | boolean | readonly number[] | null;

/** Values of options by name. */
export type Settings = Readonly<Record<string, OptionValue>>;

/** Width and height in pixels. */
export interface Size {
  width: number;
  height: number;
}

/** A part of a picture in its pixels. */
export interface Rectangle extends Size {
  left: number;
  top: number;
}

/** What is being done for a video, and how far the whole of it is. */
export interface Progress {
  phase: "load" | "encode" | "denoise" | "decode" | "write";
  step: number;
  steps: number;
  /** 0 to 1 of the whole run. */
  fraction: number;
  etaSeconds: number | null;
}

/** A file of a video. */
export type Variant = "video" | "webp" | "gif" | "png" | "spritesheet" | "thumbnail" | "picture" | "last-frame";

/** A video of the server, finished or not. Times: seconds since 1970. */
export interface Video {
  id: string;
  status: VideoStatus;
  /** 0 to 100. */
  progress: number;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  model: string;
  seconds: string;
  size: string;
  error: { code: string; message: string } | null;
  remixed_from_video_id: string | null;
  settings: Settings;
  phase: Progress | null;
  queue_position: number | null;
  picture: (Size & { crop: Rectangle | null }) | null;
  /** Seconds by stage. */
  timings: Readonly<Record<string, number>> | null;
  peak_bytes: number | null;
  variants: readonly Variant[];
  profile: boolean;
}

/** The middle frame as it would look after a step. */
export interface Preview extends Size {
  id: string;
  step: number;
  steps: number;
  url: string;
}

/** A model of the server. */
export interface Model {
  id: string;
  title: string;
  device: string;
  defaults: Settings;
}

/** A row of the option contract. */
export interface OptionRow {
  name: string;
  group: string;
  kind: "integer" | "real" | "side" | "seed" | "choice" | "boolean" | "text" | "booleanOrText" | "numbers";
  min: number | null;
  max: number | null;
  values: readonly string[] | null;
  pattern: string | null;
  multipleOf: number | null;
  unit: string | null;
  default: OptionValue;
  defaultText: string | null;
  doc: string;
}

/** What a run will take. */
export interface Estimate {
  settings: Settings;
  /** The clip's length. */
  seconds: number;
  crop: Rectangle | null;
  placed: Rectangle | null;
  estimatedSeconds: number;
  memoryBytes: number;
  queue: { waiting: number; running: number };
}
