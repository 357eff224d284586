import { type PictureTaps, resizePicture } from "@vd/kernels-native";
import { type Pausable, runInSlices } from "@vd/tensor";
import { checkPixels, checkRgbImage, type RgbImage } from "./rgb-image";
import { steadyPixels } from "./steady-pixels";
import { cancellable, type PictureWork } from "./work";

/** The window of the sinc, in source pixels on either side at equal size. */
const lobes = 3;
/** Weights are whole multiples of 2^-22: 32 bits less 8 for the result and 2 for overshoot. */
const precisionBits = 22;

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI);
}

function lanczos(x: number): number {
  return x >= -lobes && x < lobes ? sinc(x) * sinc(x / lobes) : 0;
}

/** Weights for one axis; shrinking widens the window, so that it averages (antialiasing). */
function lanczosTaps(sourceSize: number, size: number): PictureTaps {
  const scale = sourceSize / size;
  const stretch = Math.max(scale, 1);
  const support = lobes * stretch;
  const maxCount = Math.ceil(support) * 2 + 1;
  const starts = new Int32Array(size);
  const counts = new Int32Array(size);
  const weights = new Int32Array(size * maxCount);
  const exact = new Float64Array(maxCount);
  const inverseStretch = 1 / stretch;
  for (let i = 0; i < size; i++) {
    const center = (i + 0.5) * scale;
    const start = Math.max(Math.trunc(center - support + 0.5), 0);
    const count = Math.min(Math.trunc(center + support + 0.5), sourceSize) - start;
    let sum = 0;
    for (let k = 0; k < count; k++) {
      exact[k] = lanczos((k + start - center + 0.5) * inverseStretch);
      sum += exact[k]!;
    }
    for (let k = 0; k < count; k++) {
      const scaled = (exact[k]! / sum) * (1 << precisionBits);
      weights[i * maxCount + k] = Math.trunc(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    }
    starts[i] = start;
    counts[i] = count;
  }
  return { starts, counts, weights };
}

/** The taps of both axes; none for an axis that keeps its size. Pauses in between. */
function* tapsOf(image: RgbImage, width: number, height: number): Pausable<{ x?: PictureTaps; y?: PictureTaps }> {
  const x = image.width === width ? {} : { x: lanczosTaps(image.width, width) };
  yield;
  const y = image.height === height ? {} : { y: lanczosTaps(image.height, height) };
  return { ...x, ...y };
}

async function resized(image: RgbImage, width: number, height: number): Promise<RgbImage> {
  if (image.width === width && image.height === height) return { width, height, data: new Uint8Array(image.data) };
  const taps = await runInSlices(tapsOf(image, width, height));
  const data = await steadyPixels(image.data);
  return { width, height, data: await resizePicture({ width: image.width, height: image.height, data }, taps) };
}

/**
 * Resizes `image` to [height,width,3] as Pillow's LANCZOS does, bit for bit: weights in 22-bit fixed point, the x pass
 * before the y pass, each rounded to 8 bits. Worker threads do it, while the event loop turns.
 * Source: python-pillow/Pillow@4e5f09f src/libImaging/Resample.c.
 *
 * @throws VdError `shape` or `attr` for sizes below 1, data of another length and options that are none, `cancelled`
 */
export async function resizeLanczos(
  image: RgbImage,
  width: number,
  height: number,
  work: PictureWork = {},
): Promise<RgbImage> {
  checkRgbImage(image, "resize");
  checkPixels("width", width, "resize");
  checkPixels("height", height, "resize");
  return cancellable("resize", work, async () => {
    // Pillow shrinks a picture over a hundred times as high as wide by its height first; rounding in between shows it.
    const heightFirst = image.height > image.width * 100 && height < image.height;
    return resized(heightFirst ? await resized(image, image.width, height) : image, width, height);
  });
}
