import { stat } from "node:fs/promises";
import { join } from "node:path";
import {
  FUNCTION,
  listOf,
  optional,
  PATH,
  requireArgument,
  requireFields,
  SIGNAL,
  TEXT,
  throwIfAborted,
  VdError,
} from "@vd/kernels-native";
import { type ModelComponents, type Models, makeModels, openModelFolder, openSingleFile } from "@vd/svd-pipeline";
import { fileError, makeFolder, statIfThere, withCallbacks } from "@vd/tensor";
import { spatialFactor } from "@vd/vae-opt";
import { type WrittenModel, writeModel } from "../onnx/write-model";
import { exportGraph } from "./export-graph";
import {
  checkShape,
  clipGraph,
  type FreeSizeName,
  PARTS,
  type Part,
  type PartGraph,
  type PartShape,
  unetGraph,
  vaeDecoderGraph,
  vaeEncoderGraph,
} from "./parts";

/** Element types of an exported model. */
export const PRECISIONS = ["fp32", "fp16"] as const;

/** One of {@link PRECISIONS}. */
export type ExportPrecision = (typeof PRECISIONS)[number];

/** A moment of an export. */
export interface ExportProgress {
  readonly part: Part;
  /** `graph` while rows are mapped, `weights` while they are written. */
  readonly stage: "graph" | "weights";
  /** Rows, or bytes. */
  readonly done: number;
  readonly total: number;
}

/** What to export, and how. */
export interface ExportOptions {
  /** Default: all of {@link PARTS}. */
  readonly parts?: readonly Part[] | undefined;
  readonly precision?: ExportPrecision | undefined;
  /** Clips of a denoiser call: 2 with guidance. Default 2. */
  readonly batch?: number | undefined;
  /** Default: what the model was trained for. */
  readonly frames?: number | undefined;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Sizes that are left to run time. Default: none. */
  readonly dynamic?: readonly FreeSizeName[] | undefined;
  readonly opset?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
}

const OPTIONS = { parts: optional(listOf(TEXT)), signal: optional(SIGNAL), onProgress: optional(FUNCTION) };

/** An opened model with its forward functions. */
export interface ExportSource {
  readonly components: ModelComponents;
  readonly models: Models;
}

/** Sizes that Stable Video Diffusion's own checkpoints were trained for; small demonstration models have their own. */
const FULL_SIZE = { width: 1024, height: 576 };
const SMALL_SAMPLE = 256;

const refuseModel = (path: string) => (error: unknown) => {
  throw fileError(path, "a model's folder or file", error);
};

/**
 * Opens a model folder, or a checkpoint in one file.
 *
 * @throws VdError `io`, `weights`, `unsupported`
 */
export async function openSource(path: string, precision: ExportPrecision): Promise<ExportSource> {
  const isFile = (await statIfThere(path).catch(refuseModel(path)))?.isFile() === true;
  const components = await (isFile ? openSingleFile(path) : openModelFolder(path, precision));
  return { components, models: makeModels(components) };
}

/**
 * The shape of an export, defaults filled in.
 *
 * @throws VdError `attr`
 */
export function shapeOf({ components, models }: ExportSource, options: ExportOptions): PartShape {
  const factor = spatialFactor(models.vae.config);
  const { sampleSize, unet } = components;
  const side =
    sampleSize !== undefined && sampleSize <= SMALL_SAMPLE ? { width: sampleSize, height: sampleSize } : FULL_SIZE;
  const free = options.dynamic ?? [];
  const shape = {
    batch: options.batch ?? 2,
    frames: options.frames ?? unet.config.numFrames,
    width: options.width ?? side.width,
    height: options.height ?? side.height,
    free,
  };
  // Levels of the UNet halve the latents; a free size must be divisible at every level.
  const levels = 2 ** (unet.config.blockOutChannels.length - 1);
  checkShape(shape, free.includes("size") ? factor * levels : factor);
  return shape;
}

/** What is recorded for a part. */
function partGraph(part: Part, { components, models }: ExportSource, shape: PartShape): PartGraph {
  switch (part) {
    case "unet":
      return unetGraph(models.unet, shape, { factor: spatialFactor(models.vae.config) });
    case "vae-encoder":
      return vaeEncoderGraph(models.vae, { ...shape, batch: 1 });
    case "vae-decoder":
      return vaeDecoderGraph(models.vae, { ...shape, batch: 1 });
    case "clip": {
      const { imageSize, numChannels, projectionDim } = components.imageEncoder.config;
      const picture = { size: imageSize, channels: numChannels, width: projectionDim };
      return clipGraph(models.imageEncoder, { ...shape, batch: 1 }, picture);
    }
  }
}

/** The file of a part in an export's folder. */
export function partPath(dir: string, part: Part): string {
  requireArgument("partPath dir", dir, PATH);
  checkChoice("part", PARTS, part);
  return join(dir, `${part}.onnx`);
}

/**
 * Exports one part into `dir`.
 *
 * @throws VdError
 */
export async function exportPart(
  part: Part,
  source: ExportSource,
  dir: string,
  options: ExportOptions,
): Promise<WrittenModel> {
  return withCallbacks(options, ["onProgress"], "export", (watched) => writePart(part, source, dir, watched));
}

async function writePart(part: Part, source: ExportSource, dir: string, options: ExportOptions): Promise<WrittenModel> {
  const { precision = "fp32", signal, onProgress } = options;
  const shape = shapeOf(source, options);
  throwIfAborted(signal, "export");
  const graph = exportGraph({
    ...partGraph(part, source, shape),
    type: precision === "fp16" ? "float16" : "float",
    onRow: (done, total) => onProgress?.({ part, stage: "graph", done, total }),
  });
  const { batch, frames, width, height, free } = shape;
  return writeModel(partPath(dir, part), graph, {
    name: part,
    opset: options.opset,
    signal,
    onProgress: (done, total) => onProgress?.({ part, stage: "weights", done, total }),
    metadata: {
      "vd.part": part,
      "vd.precision": precision,
      "vd.shape": JSON.stringify({ batch, frames, width, height, free }),
    },
  });
}

function checkChoice<T extends string>(where: string, known: readonly T[], got: T): void {
  if (known.includes(got)) return;
  throw new VdError({ code: "attr", where, expected: `one of ${known.join(", ")}`, got: String(got) });
}

/** Makes the folder of an export. */
async function makeExportFolder(dir: string): Promise<void> {
  try {
    await makeFolder(dir);
    if (!(await stat(dir)).isDirectory()) throw new Error("a file");
  } catch (cause) {
    throw new VdError({
      code: "io",
      where: dir,
      expected: "a folder to write to",
      got: (cause as Error).message,
      cause,
    });
  }
}

/**
 * Exports the parts of a model, a folder or a checkpoint in one file, to `dir`: PART.onnx with its weights in
 * PART.onnx.data. Each part appears whole or not at all.
 *
 * @throws VdError `attr` for an option, `io`, `weights` for the model, `unsupported` naming a row without an ONNX form,
 *   `cancelled`
 * @example
 * ```ts
 * import { exportModel } from "@vd/tensorrt";
 *
 * const written = await exportModel("models/tiny-svd", "onnx", { parts: ["unet"], precision: "fp16", dynamic: ["frames"] });
 * console.log(written.map(({ path }) => path));
 * ```
 */
export async function exportModel(modelDir: string, dir: string, options: ExportOptions = {}): Promise<WrittenModel[]> {
  requireArgument("exportModel modelDir", modelDir, PATH);
  requireArgument("exportModel dir", dir, PATH);
  requireFields("exportModel", options, OPTIONS);
  const { parts = PARTS, precision = "fp32" } = options;
  checkChoice("precision", PRECISIONS, precision);
  for (const part of parts) checkChoice("parts", PARTS, part);
  const source = await openSource(modelDir, precision);
  shapeOf(source, options);
  await makeExportFolder(dir);
  const written: WrittenModel[] = [];
  for (const part of parts) written.push(await exportPart(part, source, dir, options));
  return written;
}
