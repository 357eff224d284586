import { requireOptions, VdError } from "@vd/kernels-native";
import { checkPixels, checkRgbImage, type FloatImage, type PictureWork, type RgbImage, resample } from "@vd/media";
import { clipRuns } from "./clip-runs";
import { checkFloatImage, isFloatImage } from "./float-image";

/** What the image encoder expects, from the checkpoint's feature_extractor/preprocessor_config.json. */
export interface ClipPixelOptions {
  /** Side of the square result in pixels. */
  size: number;
  /** Per channel, red first, of values in [0, 1]. */
  mean: readonly number[];
  /** Per channel, red first. */
  std: readonly number[];
}

const where = "clip input";

function checkOptions({ size, mean, std }: ClipPixelOptions): void {
  checkPixels("size", size, where);
  for (const [name, values] of Object.entries({ mean, std })) {
    if (values.length === 3 && values.every(Number.isFinite)) continue;
    const got = JSON.stringify(values);
    throw new VdError({ code: "attr", where, expected: `${name} as three numbers, one per channel`, got });
  }
}

/** The same picture with its only row or column twice: reflection at the borders needs a second pixel, which is equal to the first
 *  wherever a line is all that there is. torch refuses such a picture. */
function twoLines<Image extends RgbImage | FloatImage>(image: Image): Image {
  const { width, height } = image;
  if (width > 1 && height > 1) return image;
  // One plane of pixels of three numbers, or three planes of single numbers.
  const [planes, items] = isFloatImage(image) ? [3, 1] : [1, 3];
  const size = { width: Math.max(width, 2), height: Math.max(height, 2) };
  const data = isFloatImage(image)
    ? new Float32Array(size.width * size.height * 3)
    : new Uint8Array(size.width * size.height * 3);
  for (let to = 0; to < data.length; to++) {
    const item = to % items;
    const x = Math.floor(to / items) % size.width;
    const y = Math.floor(to / items / size.width) % size.height;
    const plane = Math.floor(to / items / size.width / size.height) % planes;
    const from = (plane * height + Math.min(y, height - 1)) * width + Math.min(x, width - 1);
    data[to] = image.data[from * items + item]!;
  }
  return { ...size, data } as RgbImage | FloatImage as Image;
}

/**
 * Returns the image encoder's view of a picture, [1,3,size,size]: in [-1, 1], blurred against aliasing, resized by a
 * cubic (A = −0.75) with aligned corners and no clamp, back to [0, 1], less the mean, over the spread. Worker threads do it; the event
 * loop turns meanwhile. Source: huggingface/diffusers@58eb52c pipelines/stable_video_diffusion/pipeline_stable_video_diffusion.py
 * `_encode_image`, `_resize_with_antialiasing`.
 *
 * @throws VdError `shape` for data of another length than the sizes say, `attr` for options that do not fit, `cancelled`
 */
export async function clipPixelValues(
  picture: RgbImage | FloatImage,
  options: ClipPixelOptions,
  work: PictureWork = {},
): Promise<Float32Array> {
  if (isFloatImage(picture)) checkFloatImage(picture);
  else checkRgbImage(picture, where);
  checkOptions(options);
  requireOptions(where, work);
  const named = { signal: work.signal, where: work.where ?? where };
  const image = twoLines(picture);
  const runs = await clipRuns(image, options.size, named);
  const normalisation = { mean: [...options.mean], spread: [...options.std] };
  return resample(image, runs, { ...named, normalisation });
}
