import type { GenerateDefaults } from "@vd/svd-pipeline";
import type { DeviceName } from "@vd/tensor";
import type { VideoPreview, VideoProgress } from "../videos/events";
import type { VideoResult, VideoSettings } from "../videos/record";

/** A model as a worker opens it. */
export interface ModelPlace {
  id: string;
  /** Folder, single file or id of the Hub. */
  source: string;
  device: DeviceName;
  threads?: number | undefined;
}

/** All that a worker needs to make a video. */
export interface WorkOrder {
  id: string;
  model: ModelPlace;
  settings: VideoSettings;
  /** Path of the picture's file. */
  picture: string;
  /** An empty folder that the files go to. */
  output: string;
  /** A folder for finished steps, which outlives the worker. */
  steps: string;
  previewEvery: number;
  profile: boolean;
}

/** What a video will take. */
export interface VideoEstimate {
  estimatedSeconds: number;
  memoryBytes: number;
  weightBytes: number;
  stages: { name: string; seconds: number; memoryBytes: number }[];
}

/** What a worker process is told. */
export type WorkerRequest =
  | { type: "run"; order: WorkOrder }
  | { type: "cancel" }
  | { type: "describe"; call: number; model: ModelPlace }
  | { type: "estimate"; call: number; model: ModelPlace; settings: VideoSettings };

/** Why something failed, for people. */
export interface WorkFailure {
  /** A code of VdError, or `internal`. */
  code: string;
  message: string;
}

/** What a worker process tells. */
export type WorkerNotice =
  | { type: "ready" }
  | { type: "progress"; progress: VideoProgress }
  | { type: "preview"; preview: VideoPreview }
  | { type: "done"; result: VideoResult }
  | { type: "failed"; failure: WorkFailure }
  | { type: "answer"; call: number; value: GenerateDefaults | VideoEstimate }
  | { type: "refusal"; call: number; failure: WorkFailure };
