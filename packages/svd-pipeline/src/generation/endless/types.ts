import type { RgbImage } from "@vd/media";
import type { GenerateOptions } from "../../types";
import type { NoisePosition } from "../noise";

/** What an endless video is made with: the options of a generation but those that need an end. */
export type EndlessOptions = Pick<
  GenerateOptions,
  | "image"
  | "width"
  | "height"
  | "autoSize"
  | "fit"
  | "focus"
  | "clipFrames"
  | "overlap"
  | "holdColours"
  | "steps"
  | "fps"
  | "motionBucketId"
  | "noiseAugStrength"
  | "minGuidance"
  | "maxGuidance"
  | "sampler"
  | "seed"
  | "stepNoise"
  | "memory"
  | "decodeChunk"
  | "signal"
  | "onProgress"
  | "onWarning"
>;

/** What may change from one clip to the next; what is left out stays. `image`: the clip begins with this picture instead of going on.
 *  `seed`: the noise begins anew. */
export type ClipChanges = Partial<
  Pick<
    EndlessOptions,
    "image" | "steps" | "motionBucketId" | "noiseAugStrength" | "minGuidance" | "maxGuidance" | "seed"
  >
>;

/** One clip of an endless video: the frames that it adds. */
export interface EndlessClip {
  /** From 0. */
  index: number;
  /** Number of its first frame, over all clips. */
  first: number;
  numFrames: number;
  width: number;
  height: number;
  fps: number;
  /** Steps of the sampler that it took. */
  steps: number;
  /** True where it begins with a picture; false where it goes on from the clip before. */
  beginsAnew: boolean;
  /** [F,H,W,3] in 8 bits. */
  frames: Uint8Array;
  /** What its parts took, in µs. */
  timings: Record<string, number>;
}

/** What a clip goes on from: the last frames of the one before. */
export interface Scene {
  /** CLIP's embedding of the picture that the scene began with, [D]. */
  embedding: Float32Array;
  /** Clean latents of the frames that the next clip takes over, [overlap,C,h,w]. */
  known: Float32Array;
  /** Mean and deviation of each channel of the latents that the scene began with, [C,2]. */
  colours: Float32Array;
  /** The last frame as it was shown, [H,W,3] in 8 bits. */
  last: Uint8Array;
}

/** What all clips to come depend on, as plain data that can be stored and sent. */
export interface EndlessState {
  /** Clips and frames that were made. */
  numClips: number;
  numFrames: number;
  /** What the clips are made with. */
  settings: Readonly<Required<{ [Name in Exclude<keyof ClipChanges, "image" | "seed">]: number }>>;
  noise: NoisePosition;
  /** What the next clip goes on from; undefined where it begins with `picture`. */
  scene: Scene | undefined;
  /** The picture that the next clip begins with. */
  picture: RgbImage | undefined;
}
