import { type Device, isVdError, openDevice, requireOptions, VdError } from "@vd/kernels-native";
import type { Denoiser, DenoiserFactory, DenoiserFallback, DenoiserRequest } from "@vd/svd-pipeline";
import type { ExportPrecision } from "../export/export-model";
import { readModel } from "../onnx/read-model";
import { listProviders, loadOrt } from "../ort/runtime";
import { buildEngine, currentGpu, type EngineGpu } from "../trt/engine";
import { findTensorRt, type SearchOptions, type TensorRt } from "../trt/find";
import { runEngine } from "../trt/run-engine";
import { openUnetSession } from "./onnxruntime";
import { cachedUnet } from "./unet-cache";
import { unetDenoiser } from "./unet-call";

/** How TensorRT denoises. */
export interface TensorRtOptions {
  /** Element type of the exported UNet and of the engine; default fp16. */
  readonly precision?: ExportPrecision | undefined;
  /** What runs the engine: ONNX Runtime's TensorRT provider keeps it in memory; trtexec loads it anew for each call.
   *  Default: trtexec with engines of the cache. */
  readonly runner?: "onnxruntime" | "trtexec" | undefined;
  /** Where TensorRT or a GPU is missing: own CUDA kernels denoise instead of an error. */
  readonly fallback?: "cuda" | undefined;
  readonly deviceId?: number | undefined;
  /** Folder of exported models and engines; default ~/.cache/vd-tensorrt. */
  readonly cacheDir?: string | undefined;
  readonly opset?: number | undefined;
  readonly optimizationLevel?: number | undefined;
  /** Where to look for TensorRT; default: the environment and the usual folders. */
  readonly search?: SearchOptions | undefined;
  /** The GPU to build for; default: this machine's. */
  readonly gpu?: EngineGpu | undefined;
}

function checkOptions(options: TensorRtOptions): void {
  requireOptions("tensorrt", options);
  const { fallback, runner } = options;
  const wrong = (where: string, expected: string, got: unknown) =>
    new VdError({ code: "attr", where, expected, got: JSON.stringify(got) });
  if (fallback !== undefined && fallback !== "cuda") throw wrong("fallback", '"cuda" or nothing', fallback);
  if (runner !== undefined && runner !== "onnxruntime" && runner !== "trtexec")
    throw wrong("runner", '"onnxruntime" or "trtexec"', runner);
}

/**
 * Finds TensorRT, its Python bindings and a GPU.
 *
 * @throws VdError `unsupported` if TensorRT cannot run here
 */
async function checkInstalled(options: TensorRtOptions): Promise<TensorRt | undefined> {
  if (options.runner !== "onnxruntime") {
    const found = await findTensorRt(options.search);
    if (!options.gpu) await currentGpu(options.deviceId);
    return found;
  }
  await currentGpu(options.deviceId);
  const present = listProviders(loadOrt());
  if (present.includes("tensorrt")) return undefined;
  const expected = "an ONNX Runtime with the provider tensorrt";
  throw new VdError({ code: "unsupported", where: "tensorrt", expected, got: `one with ${present.join(", ")}` });
}

/** Own CUDA kernels instead, if there is a GPU for them; else the first error says more than a second one would. */
function fallbackFor(error: unknown): DenoiserFallback {
  if (!isVdError(error) || error.code !== "unsupported") throw error;
  let device: Device | undefined;
  try {
    device = openDevice("cuda");
  } catch (cause) {
    const got = `neither: ${error.message}`;
    const why = (cause as Error).message;
    throw new VdError({
      code: "unsupported",
      where: "tensorrt",
      expected: "TensorRT, or a GPU for own CUDA kernels",
      got,
      hint: why,
      cause,
    });
  }
  return { device: device.kind, reason: `TensorRT cannot run here (${error.message})` };
}

/** Builds the engine of a generation, or finds it in the cache, and runs it through trtexec. */
async function openEngineDenoiser(
  request: DenoiserRequest,
  options: TensorRtOptions,
  tensorRt: TensorRt,
): Promise<Denoiser> {
  const { precision = "fp16", cacheDir, deviceId, optimizationLevel, gpu } = options;
  const path = await cachedUnet(request, { ...options, precision, dynamic: false });
  const { signal, onMessage } = request;
  const engine = await buildEngine(path, {
    ...{ tensorRt, precision, cacheDir, deviceId, optimizationLevel, gpu, signal },
    onProgress: ({ message }) => onMessage?.(message),
  });
  const model = await readModel(path);
  const run: Parameters<typeof unetDenoiser>[1] = async (inputs, stop) => {
    const { out_sample: result } = await runEngine(engine, model, inputs, { tensorRt, deviceId, signal: stop });
    if (result) return result.data;
    throw new VdError({ code: "io", where: engine.path, expected: "a result out_sample", got: "none" });
  };
  return unetDenoiser(request, run, async () => undefined);
}

/**
 * A denoiser that runs the UNet as a TensorRT engine. The UNet is exported and the engine built at their first use.
 * `fromPretrained(dir, { device: "cuda", denoiser: tensorrt({ fallback: "cuda" }) })`.
 *
 * @example
 * ```ts
 * import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
 * import { tensorrt } from "@vd/tensorrt";
 *
 * const options = { device: "cuda", denoiser: tensorrt({ fallback: "cuda" }) } as const;
 * const pipeline = await StableVideoDiffusionPipeline.fromPretrained("models/tiny-svd", options);
 * pipeline.dispose();
 * ```
 */
export function tensorrt(options: TensorRtOptions = {}): DenoiserFactory {
  checkOptions(options);
  const { precision = "fp16" } = options;
  let found: TensorRt | undefined;
  return {
    name: "tensorrt",
    async prepare() {
      try {
        found = await checkInstalled(options);
        return undefined;
      } catch (error) {
        if (options.fallback !== "cuda") throw error;
        return fallbackFor(error);
      }
    },
    async open(request) {
      if (options.runner === "onnxruntime")
        return openUnetSession(request, { ...options, precision, providers: ["tensorrt", "cuda", "cpu"] }, false);
      return openEngineDenoiser(request, options, found ?? (await findTensorRt(options.search)));
    },
  };
}
