import { VdError } from "@vd/kernels-native";
import { fitPicture, type PictureWork, type RgbImage, resizeLanczos, SIGNED_LEVELS } from "@vd/media";
import { type Pausable, pausable, runInSlices } from "@vd/tensor";
import { checkCallOptions, type OptionKinds } from "../call-options";
import { checkSize } from "./checks";
import type { SvdAutoencoder } from "./svd-autoencoder";

/** How to measure a reconstruction. */
export interface ReconstructionOptions {
  /** Pixels of the square's side that the autoencoder sees, a multiple of its factor. Default 128. */
  side?: number | undefined;
  signal?: AbortSignal | undefined;
}

const OPTIONS: OptionKinds = { side: "any", signal: "signal" };

/** Refuses what has no `encode` and `decode`; what they are given they check themselves. */
function checkAutoencoder(vae: SvdAutoencoder): void {
  if (typeof vae?.encode === "function" && typeof vae.decode === "function") return;
  const got = typeof vae === "object" && vae !== null ? "another object" : String(vae);
  throw new VdError({ code: "attr", where: "reconstruction] [vae", expected: "an open SvdAutoencoder", got });
}

/** The middle of a picture as a square in [-1,1], [side,side,3]. */
async function squareOf(picture: RgbImage, side: number, work: PictureWork): Promise<Float32Array> {
  const { data } = await resizeLanczos(await fitPicture(picture, side, side, work), side, side, work);
  return Float32Array.from(data, (level) => SIGNED_LEVELS[level]!);
}

/** Variance of what is meant over the mean squared error of what came, in dB; what came is cut to [-1,1], as frames are. */
const signalToNoise = pausable(function* (
  meant: Float32Array,
  came: Float32Array,
  rowLength: number,
): Pausable<number> {
  let sum = 0;
  let squares = 0;
  let error = 0;
  for (let from = 0; from < meant.length; from += rowLength) {
    for (let i = from; i < from + rowLength; i++) {
      sum += meant[i]!;
      squares += meant[i]! ** 2;
      error += (meant[i]! - Math.min(Math.max(came[i]!, -1), 1)) ** 2;
    }
    yield;
  }
  const variance = squares - sum ** 2 / meant.length;
  if (variance <= 0) return Number.NEGATIVE_INFINITY;
  return 10 * Math.log10(variance / error);
});

/**
 * Returns how much of a picture is left after an autoencoder encoded and decoded it: the ratio of the picture's variance to the
 * mean squared error, in dB. An autoencoder that was trained on a narrow world loses much of pictures from elsewhere. The
 * largest square in the picture's middle is looked at, at `side` pixels. A picture of a single grey has no variance: -Infinity.
 *
 * @throws VdError `shape` for a side that is no multiple of the autoencoder's factor, `attr`, `shape` or `dtype` for other arguments
 *   that are none, what `encode` and `decode` throw
 * @example
 * ```ts
 * import { loadImage } from "@vd/media";
 * import { reconstructionSnr, SvdAutoencoder } from "@vd/vae-opt";
 *
 * const vae = await SvdAutoencoder.fromPretrained("models/tiny-svd");
 * const picture = await loadImage("models/tiny-svd/samples/one-ball.png");
 * console.log(`${(await reconstructionSnr(vae, picture)).toFixed(1)} dB`);
 * await vae.close();
 * ```
 */
export async function reconstructionSnr(
  vae: SvdAutoencoder,
  picture: RgbImage,
  options: ReconstructionOptions = {},
): Promise<number> {
  checkAutoencoder(vae);
  checkCallOptions("reconstruction", options, OPTIONS);
  const { side = 128, signal } = options;
  checkSize("reconstruction] [side", side);
  const slices = { signal, where: "reconstruction" };
  const meant = await squareOf(picture, side, slices);
  const latents = await vae.encode({ numFrames: 1, width: side, height: side, data: meant }, { signal });
  const { data: came } = await vae.decode(latents, { signal });
  return runInSlices(signalToNoise.inPieces(meant, came, 3 * side), slices);
}
