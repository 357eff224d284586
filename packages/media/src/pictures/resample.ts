import { type ResampleOptions, requireFields, resamplePicture } from "@vd/kernels-native";
import { ANY_IMAGE, type FloatImage, type RgbImage } from "./rgb-image";
import { SAMPLE_RUNS, type SampleRuns } from "./sample-runs";
import { SIGNED_LEVELS } from "./signed-levels";
import { steadyPixels } from "./steady-pixels";
import { cancellable, type PictureWork } from "./work";

/** How {@link resample} works. */
export interface ResampleWork extends PictureWork, Pick<ResampleOptions, "normalisation"> {}

/**
 * Returns a picture's numbers in [-1, 1], resampled along x and then along y, [rows,columns,3]; with a `normalisation` planes of normalised
 * ones, [3,rows,columns]. Worker threads do it, while the event loop turns.
 *
 * @throws VdError `attr` for what are no picture, no runs or no options, `shape` or `layout` where they do not fit, `cancelled`
 */
export async function resample(
  image: RgbImage | FloatImage,
  runs: { x: SampleRuns; y: SampleRuns },
  work: ResampleWork = {},
): Promise<Float32Array> {
  requireFields("resample image", image, ANY_IMAGE);
  requireFields("resample runs", runs, {});
  requireFields("resample x", runs.x, SAMPLE_RUNS);
  requireFields("resample y", runs.y, SAMPLE_RUNS);
  return cancellable("resample", work, async () => {
    const { width, height } = image;
    const { normalisation } = work;
    const data = await steadyPixels(image.data);
    return resamplePicture({ width, height, data }, runs, SIGNED_LEVELS, { normalisation });
  });
}
