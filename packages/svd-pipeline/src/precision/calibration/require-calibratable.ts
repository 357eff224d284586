import { VdError } from "@vd/kernels-native";
import type { DeviceTeam } from "@vd/tensor";
import type { ChosenDenoiser } from "../../denoising/denoiser";
import type { EightBits } from "../eight-bits";

/** What of a pipeline decides whether it can be calibrated. */
export interface Calibratable {
  denoiser: ChosenDenoiser | undefined;
  eightBits: EightBits | undefined;
  team: DeviceTeam | undefined;
}

function refuse(code: "unsupported" | "attr", expected: string, got: string, hint: string): never {
  throw new VdError({ code, where: "calibrate", expected, got, hint });
}

/**
 * Throws where calibration would not see the model's own layers.
 *
 * @throws VdError `unsupported` for layers in 8 bits, several devices and a denoiser that runs elsewhere, `attr` without pictures
 */
export function requireCalibratable({ denoiser, eightBits, team }: Calibratable, images: unknown): void {
  if (eightBits) refuse("unsupported", "a model with no layers in 8 bits", "some", "Leave precision out.");
  if (team) refuse("unsupported", "one device", `${team.members.length}`, "Leave devices out.");
  if (denoiser?.kind === "elsewhere")
    refuse("unsupported", "own kernels", denoiser.factory.name, "Leave denoiser out.");
  if (!Array.isArray(images) || images.length === 0)
    refuse("attr", "a list of pictures", Array.isArray(images) ? "an empty one" : typeof images, "Give at least one.");
}
