import { stat } from "node:fs/promises";
import { resolveModel } from "@vd/hub";
import { type Device, throwIfAborted } from "@vd/kernels-native";
import { type DeviceTeam, runInSlices, type Tuning } from "@vd/tensor";
import { type ChosenDenoiser, chooseDenoiser } from "../denoising/denoiser";
import type { LoraChoice, WeightedLora } from "../lora/merge-loras";
import { type CheckedLoad, checkLoad } from "../options/check-load";
import { type EightBits, openEightBits } from "../precision/eight-bits";
import { modelsWithLayers } from "../precision/models-with-layers";
import type { LoadOptions, Precision, ProgressEvent } from "../types";
import type { ModelComponents } from "./components";
import { settleDistillation } from "./distilled";
import { openModelFolder } from "./folder";
import { type Models, makeModels } from "./models";
import { withUnet } from "./own-unet";
import { openSingleFile } from "./single-file";
import type { WarningListener } from "./warnings";

/** What an open pipeline works with. */
export interface OpenModel {
  /** With the LoRAs that are merged into it. */
  components: ModelComponents;
  /** As the files have it. */
  original: Pick<OpenModel, "components" | "models">;
  loras: readonly WeightedLora[];
  models: Models;
  device: Device;
  /** Where several devices share each generation. */
  team: DeviceTeam | undefined;
  /** Of activations. */
  precision: Precision;
  /** What computes layers in 8 bits; undefined for none. */
  eightBits: EightBits | undefined;
  layers: CheckedLoad["layers"];
  /** What decides kernel variants. */
  tuning: Tuning;
  denoiser: ChosenDenoiser | undefined;
}

/** What an opened model becomes, e.g. a pipeline with LoRAs. */
export type UseModel<T> = (opened: OpenModel, loras: readonly LoraChoice[]) => Promise<T>;

/** A model with the UNet that the options name in place of its own, if they do, and with what its distillation means. */
async function withLoadOptions(components: ModelComponents, { format }: CheckedLoad, options: LoadOptions) {
  const { unet, singleFile } = options;
  const opened = unet === undefined ? components : await withUnet(components, unet, format, singleFile);
  return settleDistillation(opened, options);
}

/** What there is to say before anything is loaded. */
const loadMessage = (message: string): ProgressEvent => ({ stage: "load", step: 0, steps: 1, elapsedUs: 0, message });

/** Warnings as messages to `onProgress`; undefined without one. */
const warnThrough = ({ onProgress }: LoadOptions): WarningListener | undefined =>
  onProgress && ((message) => onProgress(loadMessage(message)));

/** What denoises by the options; a fallback is told to `onProgress`. */
function chosenDenoiser({ denoiser, onProgress }: LoadOptions, device: Device): Promise<ChosenDenoiser | undefined> {
  return chooseDenoiser(denoiser, device, (message) => onProgress?.(loadMessage(message)));
}

/** Wires the model's modules; the event loop turns meanwhile. */
async function wired(
  components: ModelComponents,
  load: CheckedLoad,
  onWarning: WarningListener | undefined,
  denoiser: ChosenDenoiser | undefined,
): Promise<OpenModel> {
  const { device, team, precision, tuning, layers } = load;
  const made = await runInSlices(makeModels.inPieces(components, onWarning));
  const eightBits = await openEightBits({ components, layers, device, denoiser });
  const models = modelsWithLayers(made, eightBits);
  const original = { components, models };
  return { ...original, original, loras: [], device, team, precision, eightBits, layers, tuning, denoiser };
}

/** Wires models whose weights are others than those of the files; what there is to warn of was told when the model was opened. */
export async function changedModels(components: ModelComponents, eightBits: EightBits | undefined): Promise<Models> {
  const models = await runInSlices(makeModels.inPieces(components, () => {}));
  return modelsWithLayers(models, eightBits);
}

/**
 * Opens a folder, a file or a model of the Hub and uses it.
 *
 * @throws VdError `io`, `weights`, `unsupported`, `attr` or `cancelled`
 */
export async function openModel<T>(source: string, options: LoadOptions, use: UseModel<T>): Promise<T> {
  const load = checkLoad(source, options);
  const start = performance.now();
  const elapsedUs = () => (performance.now() - start) * 1000;
  const denoiser = await chosenDenoiser(options, load.device);
  const { dir } = await resolveModel(source, {
    ...options.hub,
    dtype: load.format,
    signal: options.signal,
    onProgress: ({ file, receivedTotalBytes, totalBytes }) =>
      options.onProgress?.({
        stage: "download",
        step: receivedTotalBytes,
        steps: totalBytes,
        elapsedUs: elapsedUs(),
        message: file,
      }),
  });
  if ((await stat(dir)).isFile()) return openModelFile(dir, options, use);
  options.onProgress?.({ stage: "load", step: 0, steps: 1, elapsedUs: elapsedUs(), message: dir });
  throwIfAborted(options.signal, dir, { work: "the opening" });
  const components = await withLoadOptions(await openModelFolder(dir, load.format), load, options);
  const used = await use(await wired(components, load, warnThrough(options), denoiser), load.loras);
  options.onProgress?.({ stage: "load", step: 1, steps: 1, elapsedUs: elapsedUs(), message: dir });
  return used;
}

/**
 * Opens a single-file checkpoint and uses it.
 *
 * @throws VdError as {@link openModel}
 */
export async function openModelFile<T>(path: string, options: LoadOptions, use: UseModel<T>): Promise<T> {
  const load = checkLoad(path, options);
  const denoiser = await chosenDenoiser(options, load.device);
  const onWarning = warnThrough(options);
  const opened = await openSingleFile(path, { ...options.singleFile, ...(onWarning && { onWarning }) });
  const components = await withLoadOptions(opened, load, options);
  return use(await wired(components, load, onWarning, denoiser), load.loras);
}
