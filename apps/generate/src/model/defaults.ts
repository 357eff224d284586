import type { GenerateOptions, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { GENERATE_TABLE } from "@vd/svd-pipeline/options";
import type { Settings } from "../settings";

/** What a model does when nothing is said. */
export type ModelDefaults = StableVideoDiffusionPipeline["defaults"];

/** Everything that decides the video of one run, but for its picture. */
export type RunOptions = Omit<GenerateOptions, "image"> & { [Name in keyof ModelDefaults]: number };

/** Fills what the settings leave open from the model's own defaults. */
export function runOptions({ generate }: Settings, defaults: ModelDefaults): RunOptions {
  return { ...defaults, guidance: GENERATE_TABLE.guidance.default.value, ...generate } as RunOptions;
}
