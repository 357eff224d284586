import { runInSlices } from "@vd/tensor";
import type { GeneratedVideo, GenerateOptions } from "../../types";
import type { LayerScales, ScaleTable } from "../layer-scales";
import { type ChosenScales, chooseScales } from "./choose-smoothing";
import type { LayerRecord } from "./layer-record";
import type { CalibrationTable } from "./table";

/** What a model is calibrated by. */
export interface CalibrateOptions extends Omit<GenerateOptions, "image" | "latents" | "outputType" | "resume"> {
  /** Pictures like those that videos will be made of; a few are enough. */
  images: readonly GenerateOptions["image"][];
  /** Hears of each layer that was looked at. */
  onLayer?: (done: number, total: number) => void;
}

/** A table, and how near to the exact results each layer of it came. */
export interface Calibration {
  table: CalibrationTable;
  layers: ReadonlyMap<string, Readonly<Record<"i8" | "f8e4m3", ChosenScales>>>;
}

/** What calibration needs of a pipeline. */
export interface CalibratedPipeline {
  /** Of the model. */
  digest: string;
  loras: CalibrationTable["loras"];
  records: ReadonlyMap<string, LayerRecord>;
  generate(options: GenerateOptions): Promise<GeneratedVideo>;
}

const NUM_DIGITS = 6;

/** Rounds to as many digits as a table has. */
const shortened = ({ largest, error, exponents }: ChosenScales): LayerScales => ({
  largest: Number(largest.toPrecision(NUM_DIGITS)),
  error: Number(error.toPrecision(NUM_DIGITS)),
  exponents,
});

/** Generates latents of each picture, and chooses scales and smoothing by what the layers took meanwhile. */
export async function calibrate(pipeline: CalibratedPipeline, options: CalibrateOptions): Promise<Calibration> {
  const { images, onLayer, signal, ...rest } = options;
  let video: GeneratedVideo | undefined;
  for (const image of images) video = await pipeline.generate({ ...rest, signal, image, outputType: "latent" });
  const layers = new Map<string, Record<"i8" | "f8e4m3", ChosenScales>>();
  for (const [name, record] of pipeline.records) {
    await record.layer.weight.storage.fill?.();
    layers.set(name, await runInSlices(chooseScales(record), { signal, where: "calibrate" }));
    onLayer?.(layers.size, pipeline.records.size);
  }
  const known: ScaleTable = new Map(
    [...layers].map(([name, { i8, f8e4m3 }]) => [name, { i8: shortened(i8), f8e4m3: shortened(f8e4m3) }]),
  );
  const { numFrames = 0, width = 0, height = 0 } = video ?? {};
  const generations = { pictures: images.length, steps: options.steps ?? 0, numFrames, width, height };
  return { table: { model: pipeline.digest, loras: pipeline.loras, generations, layers: known }, layers };
}
