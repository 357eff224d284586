import type { RgbImage } from "@vd/media";
import type { GenerateOptions, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { autoSize, GENERATE_TABLE, PUBLISHED_FACTOR, type Size } from "@vd/svd-pipeline/options";
import type { Settings } from "../settings";

/** What a model does when nothing is said. */
export type ModelDefaults = StableVideoDiffusionPipeline["defaults"];

/** Everything that decides the video of one run, but for its picture. */
export type RunOptions = Omit<GenerateOptions, "image"> & { [Name in keyof ModelDefaults]: number };

/** Fills what the settings leave open from the model's own defaults, and with `--size auto` from the picture's shape. isClip: the picture is
 *  the last frame of a video that goes on, whose size counts unless one is named. */
export function runOptions(
  { generate }: Settings,
  defaults: ModelDefaults,
  picture: RgbImage,
  isClip = false,
): RunOptions {
  const { autoSize: isAuto, ...given } = generate;
  const options = { ...defaults, guidance: GENERATE_TABLE.guidance.default.value, ...given } as RunOptions;
  if (isClip && given.width === undefined && given.height === undefined)
    return { ...options, ...clipSize(picture, options) };
  return isAuto ? { ...options, ...autoSize(picture, options, PUBLISHED_FACTOR) } : options;
}

/** A clip's size is kept if the model can take it and has about as many pixels of its own; else the nearest that suits it. */
function clipSize({ width, height }: Size, own: Size): Size {
  const fits = width % PUBLISHED_FACTOR === 0 && height % PUBLISHED_FACTOR === 0;
  const share = (width * height) / (own.width * own.height);
  return fits && share >= 0.5 && share <= 2 ? { width, height } : autoSize({ width, height }, own, PUBLISHED_FACTOR);
}
