import { VdError } from "@vd/kernels-native";
import type { ModelInfo, Port } from "../onnx/read-model";
import type { TensorRt } from "./find";

/** Precisions of an engine. */
export const ENGINE_PRECISIONS = ["fp32", "fp16", "int8", "fp8"] as const;

/** One of {@link ENGINE_PRECISIONS}. */
export type EnginePrecision = (typeof ENGINE_PRECISIONS)[number];

/** A range of shapes that an engine takes, and the one that it is made fast for; free sizes by name. */
export interface Profile {
  readonly min: Readonly<Record<string, number>>;
  readonly opt: Readonly<Record<string, number>>;
  readonly max: Readonly<Record<string, number>>;
}

/** What an engine is built from and for. */
export interface BuildRequest {
  readonly model: ModelInfo;
  readonly precision: EnginePrecision;
  /** For models with free sizes. */
  readonly profile?: Profile | undefined;
  /** int8 on TensorRT 10: ranges of activations, made by TensorRT's calibrator. */
  readonly calibration?: string | undefined;
  readonly deviceId?: number | undefined;
  /** 0 to 5; TensorRT's own default is 3. */
  readonly optimizationLevel?: number | undefined;
  /** Most memory that a kernel may use beside its operands. */
  readonly workspaceBytes?: number | undefined;
}

function refuse(where: string, expected: string, got: string, hint?: string): never {
  throw new VdError({ code: "attr", where, expected, got, hint });
}

const isQuantised = ({ ops }: ModelInfo) => (ops.QuantizeLinear ?? 0) > 0;
const isHalf = ({ inputs }: ModelInfo) => inputs.some(({ type }) => type === "float16");

/** TensorRT 11 has strongly typed networks only: the model's own types decide, and flags for precision are gone.
 *  Source: https://docs.nvidia.com/deeplearning/tensorrt/11.0.0/api/migration/tensorrt-10x-to-11x-trtexec.html. */
const isStronglyTyped = ({ version }: TensorRt) => version[0] >= 11;

/** fp8 works on numbers that the model itself rounds; int8 does so too, or takes ranges from a calibration. */
function checkQuantised({ model, precision, calibration }: BuildRequest, trt: TensorRt): void {
  if (isQuantised(model)) return;
  if (precision === "int8" && calibration !== undefined && !isStronglyTyped(trt)) return;
  const other = precision === "int8" && !isStronglyTyped(trt) ? ", or a calibration file" : "";
  const hint = "Quantise the exported model first, e.g. python -m modelopt.onnx.quantization --onnx_path unet.onnx.";
  refuse("precision", `a model with QuantizeLinear operations for ${precision}${other}`, "a model without", hint);
}

function precisionFlags(request: BuildRequest, trt: TensorRt): string[] {
  const { model, precision, calibration } = request;
  if (!ENGINE_PRECISIONS.includes(precision))
    refuse("precision", `one of ${ENGINE_PRECISIONS.join(", ")}`, String(precision));
  if (precision === "int8" || precision === "fp8") checkQuantised(request, trt);
  const half = isHalf(model);
  if (precision === "fp32" && half)
    refuse("precision", "fp16 for a model in float16", "fp32", "Export the model with --precision fp32.");
  if (isStronglyTyped(trt)) {
    if (precision === "fp16" && !half)
      refuse("precision", "a model in float16 for TensorRT 11", "one in float32", "Export it with --precision fp16.");
    return [];
  }
  if (precision === "fp32") return [];
  // A float16 model has its norms in float32 on purpose; strong typing keeps them.
  if (precision === "fp16") return half ? ["--stronglyTyped"] : ["--fp16"];
  return [`--${precision}`, "--fp16", ...(calibration === undefined ? [] : [`--calib=${calibration}`])];
}

/** Exported models have operations of opset 20, such as Gelu, which TensorRT reads from version 10 on. */
const OLDEST = 10;

function checkVersion({ version, trtexec }: TensorRt): void {
  if (version[0] >= OLDEST) return;
  const got = version.join(".");
  throw new VdError({ code: "unsupported", where: trtexec, expected: `TensorRT ${OLDEST} or newer`, got });
}

/** The value of an axis such as `8*height`, `height/8` or `batch*frames` for given free sizes. */
function axisValue(axis: number | string, sizes: Readonly<Record<string, number>>, where: string): number {
  if (typeof axis === "number") return axis;
  const [product = "", divisor = "1"] = axis.split("/");
  const value = product.split("*").reduce((total, factor) => {
    const size = /^\d+$/.test(factor) ? Number(factor) : sizes[factor];
    return size === undefined ? refuse(where, `a size for ${factor}`, "none") : total * size;
  }, 1);
  return value / Number(divisor);
}

/**
 * The dimensions of a port for given free sizes.
 *
 * @throws VdError `attr` for a size that is not given
 */
const portDims = ({ axes }: Port, sizes: Readonly<Record<string, number>>, where = "profile"): number[] =>
  axes.map((axis) => axisValue(axis, sizes, where));

function profileFlags({ model, profile }: BuildRequest): string[] {
  const open = model.inputs.filter(({ axes }) => axes.some((axis) => typeof axis === "string"));
  if (open.length === 0) return [];
  if (!profile)
    refuse("profile", "ranges for the free sizes of the model", "none", "Pass profile, or export fixed sizes.");
  const shapes = (which: keyof Profile) =>
    open.map((port) => `${port.name}:${portDims(port, profile[which], `profile.${which}`).join("x")}`).join(",");
  for (const name of Object.keys(profile.opt)) {
    const [min, opt, max] = [profile.min[name]!, profile.opt[name]!, profile.max[name]!];
    if (!(min <= opt && opt <= max)) refuse(`profile] [${name}`, "min ≤ opt ≤ max", `${min}, ${opt}, ${max}`);
  }
  return [`--minShapes=${shapes("min")}`, `--optShapes=${shapes("opt")}`, `--maxShapes=${shapes("max")}`];
}

/**
 * Arguments of trtexec that build an engine and run nothing. Source:
 * https://docs.nvidia.com/deeplearning/tensorrt/10.8.0/reference/command-line-programs.html.
 *
 * @throws VdError `attr` for what this version cannot do, `unsupported` for one that is too old
 */
export function buildArguments(
  request: BuildRequest,
  trt: TensorRt,
  enginePath: string,
  timingCachePath: string,
): string[] {
  const { model, deviceId = 0, optimizationLevel, workspaceBytes } = request;
  checkVersion(trt);
  if (
    optimizationLevel !== undefined &&
    !(Number.isInteger(optimizationLevel) && optimizationLevel >= 0 && optimizationLevel <= 5)
  )
    refuse("optimizationLevel", "a whole number from 0 to 5", String(optimizationLevel));
  return [
    `--onnx=${model.path}`,
    `--saveEngine=${enginePath}`,
    `--timingCacheFile=${timingCachePath}`,
    `--device=${deviceId}`,
    "--skipInference",
    ...precisionFlags(request, trt),
    ...profileFlags(request),
    ...(optimizationLevel === undefined ? [] : [`--builderOptimizationLevel=${optimizationLevel}`]),
    ...(workspaceBytes === undefined ? [] : [`--memPoolSize=workspace:${Math.floor(workspaceBytes / 2 ** 20)}M`]),
  ];
}

/** Arguments of trtexec that run an engine once over given inputs and write the results as JSON. */
export function runArguments(
  enginePath: string,
  inputs: readonly { name: string; path: string; dims: readonly number[]; isFree: boolean }[],
  outputPath: string,
  deviceId = 0,
): string[] {
  const free = inputs.filter(({ isFree }) => isFree);
  return [
    `--loadEngine=${enginePath}`,
    `--loadInputs=${inputs.map(({ name, path }) => `${name}:${path}`).join(",")}`,
    ...(free.length === 0 ? [] : [`--shapes=${free.map(({ name, dims }) => `${name}:${dims.join("x")}`).join(",")}`]),
    `--exportOutput=${outputPath}`,
    `--device=${deviceId}`,
    "--iterations=1",
    "--warmUp=0",
    "--duration=0",
    "--avgRuns=1",
  ];
}
