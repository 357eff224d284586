import { VdError } from "@vd/kernels-native";
import type { StageShape } from "../stages/definitions";

/**
 * Throws for what several devices do not share: their work is one clip, every call of whose denoiser is made in full.
 *
 * @throws VdError `unsupported` for calls that are saved, and for videos of several clips, loops and frames between frames
 */
export function requireWhole(
  { numFrames, clipFrames, decodedFrames = numFrames }: StageShape,
  savesCalls: boolean,
): void {
  const refuse = (got: string, hint: string) =>
    new VdError({
      code: "unsupported",
      where: "devices",
      expected: "one clip whose denoiser makes every call in full",
      got,
      hint,
    });
  if (savesCalls) {
    const names = "guidanceMinSigma, guidanceMaxSigma, featureInterval, skipThreshold, fast";
    throw refuse("calls that are saved", `Leave out devices, or what saves calls (${names}).`);
  }
  if (clipFrames !== undefined || decodedFrames !== numFrames)
    throw refuse("a longer or steered video", "Leave out devices: one device makes such videos.");
}
