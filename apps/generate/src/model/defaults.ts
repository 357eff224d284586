import type { RgbImage } from "@vd/media";
import type { GenerateOptions, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { autoSize, GENERATE_TABLE, PUBLISHED_FACTOR } from "@vd/svd-pipeline/options";
import type { Settings } from "../settings";

/** What a model does when nothing is said. */
export type ModelDefaults = StableVideoDiffusionPipeline["defaults"];

/** Everything that decides the video of one run, but for its picture. */
export type RunOptions = Omit<GenerateOptions, "image"> & { [Name in keyof ModelDefaults]: number };

/** Fills what the settings leave open from the model's own defaults, and with `--size auto` from the picture's shape. isClip: the picture is
 *  the last frame of a video that goes on, whose shape counts unless a size is named. */
export function runOptions(
  { generate }: Settings,
  defaults: ModelDefaults,
  picture: RgbImage,
  isClip = false,
): RunOptions {
  const { autoSize: isAuto, ...given } = generate;
  const options = { ...defaults, guidance: GENERATE_TABLE.guidance.default.value, ...given } as RunOptions;
  const isOpen = isClip && given.width === undefined && given.height === undefined;
  return isAuto || isOpen ? { ...options, ...autoSize(picture, options, PUBLISHED_FACTOR) } : options;
}
