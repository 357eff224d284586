import type { VideoEvents } from "../videos/events";
import type { VideoRecord, VideoStatus } from "../videos/record";

/** A video before it has a turn. */
export type NewVideo = Omit<
  VideoRecord,
  "status" | "startedAt" | "completedAt" | "turn" | "attempts" | "crashes" | "error" | "result"
>;

/** A call that may come twice and must count once. */
export interface IdempotentCall {
  key: string;
  /** Of the call's body: another body under the same key is a mistake. */
  fingerprint: string;
}

/** Which videos to list. */
export interface ListQuery {
  /** Undefined for everybody's. */
  owner: string | undefined;
  status?: VideoStatus | undefined;
  after?: string | undefined;
  order: "asc" | "desc";
  limit: number;
}

/** How many videos are under way. */
export interface QueueCounts {
  waiting: number;
  running: number;
}

/** Videos, and who makes them: one queue for the API, whatever keeps it. */
export interface VideoQueue {
  readonly events: VideoEvents;
  /**
   * Adds a video. limit: how many of the owner may be under way. Returns the video of an earlier call with the same key, if there was one.
   *
   * @throws LimitError, IdempotencyError
   */
  add(video: NewVideo, limit: number, call?: IdempotentCall): Promise<VideoRecord>;
  /** Returns the video of an earlier call. @throws IdempotencyError */
  earlier(owner: string, call: IdempotentCall): Promise<VideoRecord | undefined>;
  get(id: string): Promise<VideoRecord | undefined>;
  /** Returns how many videos of an owner are queued or running. */
  numActive(owner: string): Promise<number>;
  list(query: ListQuery): Promise<VideoRecord[]>;
  /** Returns how many are served before a video that waits. */
  positionOf(video: VideoRecord): Promise<number>;
  counts(): Promise<QueueCounts>;
  /** Cancels a video that has not ended; returns it as it is now, undefined where there is none. */
  cancel(id: string): Promise<VideoRecord | undefined>;
  /** Deletes a video with its files, cancelling it first. */
  remove(id: string): Promise<void>;
  /** True while what keeps the queue answers; a call to it would else wait until it does again. */
  isReachable(): boolean;
  /** True while videos are taken and made. */
  isReady(): Promise<boolean>;
  /** Takes no new work and waits for what runs, at most so long; what has not ended waits for the next start. */
  drain(waitMs: number): Promise<void>;
}

/** The owner has as many videos under way as it may. */
export class LimitError extends Error {
  constructor(readonly limit: number) {
    super(`At most ${limit} videos of one key may be queued or running. Wait until one has ended, or cancel one.`);
  }
}

/** An idempotency key came with another body than before. */
export class IdempotencyError extends Error {
  constructor() {
    super("This Idempotency-Key was used for another request. Use a new key for a new video.");
  }
}

/** How long idempotency keys are kept. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;

/** A video whose worker process ends by itself so often is given up. */
export const MAX_CRASHES = 3;

/** Returns a new video's record; its turn comes when it is stored. */
export const queuedRecord = (video: NewVideo, turn: number): VideoRecord => ({
  ...video,
  ...{ status: "queued", startedAt: null, completedAt: null, turn, attempts: 0, crashes: 0, error: null, result: null },
});
