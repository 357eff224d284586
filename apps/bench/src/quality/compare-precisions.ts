import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type EightBitPrecision,
  type GenerateOptions,
  type LoadOptions,
  PRECISION_PLANS,
  StableVideoDiffusionPipeline,
  saveCalibration,
} from "@vd/svd-pipeline";
import { type Distance, distanceOf, generateForQuality } from "./compare-variants";

/** Every choice of layers in 8 bits. */
export const EIGHT_BIT = Object.keys(PRECISION_PLANS) as EightBitPrecision[];

/** A generation with layers in 8 bits beside the exact one. */
export interface PrecisionRun extends Distance {
  precision: EightBitPrecision;
  /** With a table; without it scales are found at run time. */
  isCalibrated: boolean;
  /** Of denoising alone, in µs. */
  denoiseUs: number;
}

/** What is compared. */
export interface PrecisionComparison {
  model: string;
  load: LoadOptions;
  /** The model without layers in 8 bits. */
  pipeline: StableVideoDiffusionPipeline;
  options: GenerateOptions & { seed: number };
  precisions: readonly EightBitPrecision[];
  onProgress?: (done: number, total: number) => void;
}

/**
 * Generates a video exactly and with each of `precisions`, without a calibration table and with one, which is made by the same picture
 * and another seed.
 *
 * @throws VdError as `generate` and `calibrate` of the pipeline
 */
export async function comparePrecisions(comparison: PrecisionComparison): Promise<PrecisionRun[]> {
  const { model, load, pipeline, options, precisions, onProgress } = comparison;
  const work = await mkdtemp(join(tmpdir(), "vd-bench-"));
  const table = join(work, "calibration.json");
  const runs: PrecisionRun[] = [];
  try {
    const exact = await generateForQuality(pipeline, options);
    const { image, seed, ...rest } = options;
    await saveCalibration(table, (await pipeline.calibrate({ ...rest, seed: seed + 1, images: [image] })).table);
    for (const precision of precisions)
      for (const calibration of ["none", table]) {
        const eight = await StableVideoDiffusionPipeline.fromPretrained(model, { ...load, precision, calibration });
        try {
          const run = await generateForQuality(eight, { ...options, onWarning: () => {} });
          const isCalibrated = calibration !== "none";
          runs.push({ precision, isCalibrated, denoiseUs: run.denoiseUs, ...distanceOf(run, exact) });
        } finally {
          eight.dispose();
        }
        onProgress?.(runs.length, 2 * precisions.length);
      }
    return runs;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
