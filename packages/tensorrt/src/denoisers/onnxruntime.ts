import { requireOptions, throwIfAborted } from "@vd/kernels-native";
import type { Denoiser, DenoiserFactory, DenoiserRequest } from "@vd/svd-pipeline";
import type { ExportPrecision } from "../export/export-model";
import { checkProviders, loadOrt } from "../ort/runtime";
import { OnnxSession, type SessionOptions } from "../ort/session";
import { cachedUnet } from "./unet-cache";
import { unetDenoiser } from "./unet-call";

/** How ONNX Runtime denoises. */
export interface OnnxRuntimeOptions extends SessionOptions {
  /** Element type of the exported UNet; default fp32. */
  readonly precision?: ExportPrecision | undefined;
  /** Folder of exported models; default ~/.cache/vd-tensorrt. */
  readonly cacheDir?: string | undefined;
}

/**
 * Opens the UNet of a generation in ONNX Runtime.
 *
 * @throws VdError
 */
export async function openUnetSession(
  request: DenoiserRequest,
  options: OnnxRuntimeOptions,
  dynamic: boolean,
): Promise<Denoiser> {
  const path = await cachedUnet(request, { ...options, dynamic });
  const session = await OnnxSession.open(path, options);
  const run: Parameters<typeof unetDenoiser>[1] = async (inputs, signal) => {
    // The runtime cannot be stopped within a call; a cancel takes effect between two of them.
    throwIfAborted(signal, "denoiser");
    const { out_sample: result } = await session.run(inputs);
    throwIfAborted(signal, "denoiser");
    return result!.data;
  };
  return unetDenoiser(request, run, () => session.close());
}

/**
 * A denoiser that runs the UNet in ONNX Runtime, on the CPU unless other providers are named. The UNet is exported at
 * its first use. `fromPretrained(dir, { denoiser: onnxruntime({ threads: 4 }) })`.
 *
 * @example
 * ```ts
 * import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
 * import { onnxruntime } from "@vd/tensorrt";
 *
 * const denoiser = onnxruntime({ threads: 4 });
 * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd", { denoiser });
 * pipeline.dispose();
 * ```
 */
export function onnxruntime(options: OnnxRuntimeOptions = {}): DenoiserFactory {
  requireOptions("onnxruntime", options);
  return {
    name: "onnxruntime",
    async prepare() {
      checkProviders(loadOrt(), options.providers ?? ["cpu"]);
      return undefined;
    },
    open: (request) => openUnetSession(request, options, true),
  };
}
