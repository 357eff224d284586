import type { CheckedOptions } from "../../options/check-generate";
import type { GenerateOptions } from "../../types";

/** The options that decide how many frames there are at each point of a generation. */
type CountOptions = Pick<CheckedOptions, "numFrames" | "interpolation" | "loop" | "boomerang" | "fps" | "outputType">;

/** Frames after interpolation: one more between every two, in a loop also behind the last. */
const interpolated = (numFrames: number, loop: boolean): number => (loop ? 2 * numFrames : 2 * numFrames - 1);

/** Returns how many frames are denoised at a time; undefined where those are all and nothing is known of any: then the device takes the
 *  steps by itself. */
export function clipLength(
  {
    numFrames,
    clipFrames,
    loop,
    interpolation,
  }: Pick<CheckedOptions, "numFrames" | "clipFrames" | "loop" | "interpolation">,
  { pastFrames = [], lastImage }: Pick<GenerateOptions, "pastFrames" | "lastImage">,
): number | undefined {
  const total = numFrames + pastFrames.length;
  const isPlain = total <= clipFrames && !loop && pastFrames.length === 0 && lastImage === undefined;
  // One frame has nothing behind it that another could come between.
  const isBetween = interpolation === "denoise" && numFrames > 1;
  if (isPlain && !isBetween) return undefined;
  return Math.min(clipFrames, isBetween ? Math.max(total, 3) : total);
}

/** Returns how many frames have latents in the end: with those that are interpolated before decoding. */
export function latentFrames({ numFrames, interpolation, loop }: CountOptions): number {
  return interpolation === "latent" || interpolation === "denoise" ? interpolated(numFrames, loop) : numFrames;
}

/** Returns how many frames are decoded: those of a loop with its other end on both sides, so that the decoder, which looks at neighbours,
 *  sees no end either. */
export function decodedFrames(options: CountOptions): number {
  return latentFrames(options) + 2 * loopContext(options);
}

/** Frames of the other end that a loop is decoded with, on each side. */
export const loopContext = (options: CountOptions): number =>
  options.loop ? Math.min(LOOP_CONTEXT, latentFrames(options)) : 0;

/** Neighbours that the decoder is shown beyond each end of a loop: its temporal layers look further, but what is near counts most. */
const LOOP_CONTEXT = 4;

/** Returns how many frames the finished video has, and how many it shows a second. */
export function finalFrames(options: CountOptions): { numFrames: number; fps: number } {
  const { numFrames, interpolation, loop, boomerang, fps, outputType } = options;
  const isDoubled = interpolation !== "none";
  const count = isDoubled ? interpolated(numFrames, loop) : numFrames;
  if (outputType === "latent")
    return { numFrames: latentFrames(options), fps: interpolation === "blend" ? fps : isDoubled ? 2 * fps : fps };
  return { numFrames: boomerang ? Math.max(count, 2 * count - 2) : count, fps: isDoubled ? 2 * fps : fps };
}
