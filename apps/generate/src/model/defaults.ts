import type { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import type { GuidanceShape, Settings } from "../settings";

/** What a model does when nothing is said. */
export type ModelDefaults = StableVideoDiffusionPipeline["defaults"];

/** All numbers of one run. */
export interface RunOptions extends ModelDefaults {
  guidance: GuidanceShape;
}

/** Fills what the settings leave open from the model's own defaults. */
export function runOptions(settings: Settings, defaults: ModelDefaults): RunOptions {
  const { size, guidanceRange } = settings;
  return {
    width: size?.width ?? defaults.width,
    height: size?.height ?? defaults.height,
    numFrames: settings.numFrames ?? defaults.numFrames,
    steps: settings.steps ?? defaults.steps,
    fps: settings.fps ?? defaults.fps,
    motionBucketId: settings.motionBucketId ?? defaults.motionBucketId,
    noiseAugStrength: settings.noiseAugStrength ?? defaults.noiseAugStrength,
    minGuidance: guidanceRange?.min ?? defaults.minGuidance,
    maxGuidance: guidanceRange?.max ?? defaults.maxGuidance,
    guidance: settings.guidanceShape ?? "linear",
  };
}
