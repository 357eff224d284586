import type { ChosenDenoiser } from "../../denoising/denoiser";
import { modelDigest } from "../../opening/model-digest";
import type { OpenModel } from "../../opening/open-model";
import type { GeneratedVideo, GenerateOptions } from "../../types";
import { type CalibrateOptions, type Calibration, calibrate } from "./calibrate";
import type { LayerRecord } from "./layer-record";
import { observingDenoiser } from "./observing-denoiser";

/** Calibrates an open model. generate: makes latents by a denoiser that watches the layers. */
export async function calibrateModel(
  { components, denoiser, device }: OpenModel,
  generate: (options: GenerateOptions, denoiser: ChosenDenoiser) => Promise<GeneratedVideo>,
  options: Parameters<typeof calibrate>[1] & CalibrateOptions,
): Promise<Calibration> {
  const records = new Map<string, LayerRecord>();
  const own = denoiser?.kind === "own" ? denoiser.device : device;
  const observing: ChosenDenoiser = { kind: "elsewhere", factory: observingDenoiser(own, records) };
  const digest = await modelDigest(components);
  const loras = (components.loras ?? []).map(({ weight, sha256 }) => ({ weight, sha256 }));
  return calibrate({ digest, loras, records, generate: (given) => generate(given, observing) }, options);
}
