import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { throwIfAborted } from "@vd/kernels-native";
import type { DenoiserRequest } from "@vd/svd-pipeline";
import { makeFolder } from "@vd/tensor";
import { defaultCacheDir } from "../cache-dir";
import { type ExportOptions, type ExportPrecision, exportPart, partPath } from "../export/export-model";
import { readModel } from "../onnx/read-model";
import { DEFAULT_OPSET } from "../onnx/write-model";

/** Counts changes of what an export of the same weights looks like, so that older files are not taken for it. */
const EXPORT_REVISION = 1;

/** Which model a denoiser needs. */
export interface CachedUnetOptions {
  readonly cacheDir?: string | undefined;
  readonly precision?: ExportPrecision | undefined;
  readonly opset?: number | undefined;
  /** Leave sizes to run time where the model allows it, so that one export serves them all. */
  readonly dynamic: boolean;
}

/** The sizes of a generation as an export's options; sizes that do not halve at every level must be fixed. */
function exportOptions({ shape, models }: DenoiserRequest, options: CachedUnetOptions): ExportOptions {
  const { rows, numFrames, width, height, factor } = shape;
  const multiple = factor * 2 ** (models.unet.config.blockOutChannels.length - 1);
  const isRegular = width % multiple === 0 && height % multiple === 0;
  const { precision = "fp32", opset = DEFAULT_OPSET } = options;
  const dynamic = options.dynamic && isRegular ? (["batch", "frames", "size"] as const) : [];
  return { batch: rows, frames: numFrames, width, height, dynamic, precision, opset };
}

/** A name for what an export depends on: the files of the weights as they are now, LoRAs on them, sizes, precision. */
function keyOf(
  { components }: DenoiserRequest,
  { batch, frames, width, height, dynamic, precision, opset }: ExportOptions,
) {
  const sizes = dynamic?.length ? ["dynamic"] : [batch, frames, width, height];
  const parts = [EXPORT_REVISION, components.files, sizes, precision, opset, ...(components.loras ?? [])];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 24);
}

/**
 * The exported UNet for a generation: made at its first use, then kept. Resolves to the model's path.
 *
 * @throws VdError as the export does
 */
export async function cachedUnet(request: DenoiserRequest, options: CachedUnetOptions): Promise<string> {
  const wanted = exportOptions(request, options);
  const dir = join(options.cacheDir ?? defaultCacheDir(), "onnx", keyOf(request, wanted));
  const path = partPath(dir, "unet");
  throwIfAborted(request.signal, "denoiser");
  if (existsSync(path) && (await isWhole(path))) return path;
  request.onMessage?.(`Exporting the UNet to ${path}.`);
  await makeFolder(dir);
  await exportPart("unet", request, dir, { ...wanted, signal: request.signal });
  return path;
}

async function isWhole(path: string): Promise<boolean> {
  try {
    await readModel(path);
    return true;
  } catch {
    return false;
  }
}
