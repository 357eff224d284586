import { NUMBER, requireArgument, requireFields, type WantedFields, wholeFrom } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";
import { BYTES } from "../pictures/rgb-image";

/** Weights of red, green and blue in luma; their sum is 1. */
export interface LumaWeights {
  red: number;
  green: number;
  blue: number;
}

const WEIGHTS: WantedFields = { red: NUMBER, green: NUMBER, blue: NUMBER };
const SIDE = wholeFrom(2);

/** Source: ITU-R BT.709-6, item 3.2. */
export const BT709: LumaWeights = { red: 0.2126, green: 0.7152, blue: 0.0722 };

/** Source: ITU-R BT.601-7, item 2.5.1. */
export const BT601: LumaWeights = { red: 0.299, green: 0.587, blue: 0.114 };

/**
 * Converts a picture to I420 in limited range: luma 16 to 235, chroma 16 to 240, each the mean of 2 x 2 pixels.
 * The mean is taken in RGB, so that chroma of hard edges does not shift. rgb: [H,W,3], 0 to 255; H and W even. weights: default BT.709. Returns luma
 * [H,W], then blue chroma and red chroma [H/2,W/2]. Pauses after every two rows.
 *
 * @throws VdError `attr` for what are no bytes, no sides and no weights
 */
export const rgbToI420 = pausable(function* (
  rgb: Uint8Array,
  width: number,
  height: number,
  weights: LumaWeights = BT709,
): Pausable<Uint8Array> {
  requireArgument("rgbToI420 rgb", rgb, BYTES);
  requireArgument("rgbToI420 width", width, SIDE);
  requireArgument("rgbToI420 height", height, SIDE);
  requireFields("rgbToI420 weights", weights, WEIGHTS);
  // What scales B - Y and R - Y to +-0.5. Source: ITU-R BT.709-6, item 3.3.
  const blueRange = 2 * (1 - weights.blue);
  const redRange = 2 * (1 - weights.red);
  const numPixels = width * height;
  const planes = new Uint8Array((numPixels * 3) / 2);
  let blueIndex = numPixels;
  let redIndex = numPixels + numPixels / 4;
  for (let y = 0; y < height; y += 2) {
    for (let i = y * width; i < (y + 2) * width; i++) {
      const luma = lumaOf(weights, rgb[3 * i]!, rgb[3 * i + 1]!, rgb[3 * i + 2]!);
      planes[i] = Math.round(16 + (219 / 255) * luma);
    }
    for (let x = 0; x < width; x += 2) {
      const above = 3 * (y * width + x);
      const below = above + 3 * width;
      const red = meanOfFour(rgb, above, below);
      const green = meanOfFour(rgb, above + 1, below + 1);
      const blue = meanOfFour(rgb, above + 2, below + 2);
      const luma = lumaOf(weights, red, green, blue);
      planes[blueIndex++] = Math.round(128 + ((224 / 255) * (blue - luma)) / blueRange);
      planes[redIndex++] = Math.round(128 + ((224 / 255) * (red - luma)) / redRange);
    }
    yield;
  }
  return planes;
});

function lumaOf(weights: LumaWeights, red: number, green: number, blue: number): number {
  return weights.red * red + weights.green * green + weights.blue * blue;
}

/** Mean of one colour over two neighbours in a row and the two below; indices are those of the left ones. */
function meanOfFour(rgb: Uint8Array, above: number, below: number): number {
  return (rgb[above]! + rgb[above + 3]! + rgb[below]! + rgb[below + 3]!) / 4;
}
