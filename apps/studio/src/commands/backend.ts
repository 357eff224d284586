import type { Redis } from "ioredis";
import type { VideoFiles } from "../files/video-files";
import type { FetchRules } from "../inputs/safe-fetch";
import type { KeyStore } from "../keys/key-store";
import type { VideoQueue } from "../queue/video-queue";
import type { ModelPlace } from "../workers/messages";
import type { WorkerProcess } from "../workers/worker-process";

/** What a queue is opened with. */
export interface BackendContext {
  /** Data folder. */
  folder: string;
  workers: readonly WorkerProcess[];
  places: readonly ModelPlace[];
  /** How webhooks are sent; undefined for a worker, which sends none. */
  rules: FetchRules | undefined;
  /** Waiting times of webhooks, for tests. */
  retryMs?: readonly number[] | undefined;
  /** After how long the videos of a worker that is gone are given to others, in ms. */
  stalledMs: number;
  /** Where files go instead of the data folder. */
  remoteFiles: VideoFiles | undefined;
}

/** A queue with what belongs to it. */
export interface StudioBackend {
  queue: VideoQueue;
  files: VideoFiles;
  keys: KeyStore;
  /** Counts calls by key for all servers; undefined where this one is alone. */
  rateStore?: Redis | undefined;
  /** Lets go of everything; the queue is drained before. */
  close(): Promise<void>;
}
