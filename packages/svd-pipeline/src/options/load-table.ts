import { CPU_MATH, type CpuMath, DEVICE_KINDS, MAX_THREADS } from "@vd/kernels-native";
import { type DeviceName, GPU_NAMES } from "@vd/tensor";
import { CONVOLUTIONS, LAYER_PRECISIONS, PRECISIONS } from "./choices";
import { boolean, choice, devices, integer, object, text } from "./kinds";
import { always, found, type OptionGroup, type OptionTable, perDevice } from "./option";
import { PROGRESS, SIGNAL } from "./shared-rows";

const isObject = (value: unknown) => typeof value === "object" && value !== null;

const isLora = (value: unknown): boolean => {
  const { path, weight = 1 } = Object(value) as { path?: unknown; weight?: unknown };
  return typeof path === "string" && path !== "" && Number.isFinite(weight);
};

const isListOfLoras = (value: unknown) => Array.isArray(value) && value.every(isLora);

/** Everything that can be said when a model is opened, in the order of documentation and help. */
export const LOAD_TABLE = {
  device: {
    kind: choice<DeviceName>([...DEVICE_KINDS, "auto"], "DeviceName", GPU_NAMES),
    doc: "What computes: `cpu`, `cuda` for an NVIDIA GPU, `cuda:1` for the second of several, or `auto` for a GPU if one can be used, else the CPU.",
    default: always(DEVICE_KINDS[0]),
    cli: { flags: "--device <NAME>" },
  },
  devices: {
    kind: devices,
    doc: "Several devices that share each generation: GPUs by number (`0`, `1`) or name (`cuda:0`), or `cpu` several times, which divides the threads. The frames are those of one device, within rounding.",
    default: found("one device"),
    cli: { flags: "--devices <LIST>" },
  },
  dtype: {
    kind: choice(PRECISIONS, "Precision"),
    doc: "Element type of weights and activations. On the CPU activations are always float32.",
    default: perDevice("float32", "float16"),
    cli: { flags: "--dtype <NAME>", words: { fp32: "float32", fp16: "float16", bf16: "bfloat16" } },
  },
  precision: {
    kind: choice(LAYER_PRECISIONS, "LayerPrecision"),
    doc: "Which layers of the UNet are computed in 8 bits: `full` none, `fp8` in floats, `int8` in integers, `mixed8` each in the type that suits it. With `fp8` the decoder's convolutions are too. The frames differ a little; `calibration` makes it faster and the difference smaller.",
    default: always(LAYER_PRECISIONS[0]),
    cli: { flags: "--precision <NAME>" },
  },
  calibration: {
    kind: text("the name of a file, or none"),
    doc: "What `precision` knows of the layers' inputs: a table that `vd-generate calibrate` made of this model, or `none`. A table of another model is refused.",
    default: found("calibration.json beside the model, where there is one"),
    cli: { flags: "--calibration <FILE>" },
  },
  convolutions: {
    kind: choice(CONVOLUTIONS, "Convolutions"),
    doc: "How 3x3 convolutions of many channels are computed on a GPU in float16: `direct`, or with `winograd`'s transforms, which take less time and more memory while they are used. `auto` takes those of the UNet and the decoder, of the UNet alone, or of its smaller filters, as far as its memory allows, on a Hopper GPU where the memory use is `full`. The frames differ by rounding.",
    default: always(CONVOLUTIONS[0]),
    cli: { flags: "--convolutions <NAME>" },
  },
  threads: {
    kind: integer(1, MAX_THREADS),
    doc: "CPU threads. The frames do not depend on them.",
    default: found("VD_THREADS, or all cores"),
    cli: { flags: "--threads <N>" },
  },
  cpuMath: {
    kind: choice<CpuMath>(CPU_MATH, "CpuMath"),
    doc: "How exactly the CPU multiplies in linear layers, convolutions and attention: `exact` as float32 has it, `fast` with three products of bfloat16 parts, `bf16` with one. `fast` needs AMX, `bf16` AMX or AVX512_BF16: elsewhere products are exact, and a warning says so.",
    default: found("exact"),
    cli: { flags: "--cpu-math <NAME>" },
  },
  tuning: {
    kind: object({
      ...{ type: "string | false", expected: "the path of a tuning table, or false for none" },
      is: (value) => value === false || (typeof value === "string" && value !== ""),
    }),
    doc: "Which table decides the GPU's kernel variants: the path of one that was made on this device, or false for the kernels' own guess. The frames are the same.",
    default: found("the one that comes with the package for the device"),
  },
  denoiser: {
    kind: object({
      ...{ type: "string | DenoiserFactory", imports: ["DenoiserFactory"], expected: "a denoiser" },
      // What is registered under the name, or made, is looked at when it is asked to denoise.
      is: () => true,
    }),
    doc: 'What denoises instead of this package\'s kernels: a name that a package has registered, such as "onnxruntime" or "tensorrt" of `@vd/tensorrt`, or what makes a denoiser.',
    default: found("own kernels on the device"),
  },
  loras: {
    kind: object({
      ...{ type: "readonly LoraChoice[]", imports: ["LoraChoice"] },
      ...{ expected: "a list of { path, weight }, each with a number as weight or none", is: isListOfLoras },
    }),
    doc: "LoRAs to merge into the UNet, each as `{ path, weight }`: a .safetensors file in the names of PEFT, diffusers or kohya, or a folder with one, and how much of it, by default 1. `pipeline.loadLoras` and `unloadLoras` do so later.",
    default: found("none"),
  },
  unet: {
    kind: text("a folder or a file"),
    doc: "Another UNet in place of the model's own, such as AnimateLCM-SVD-xt.safetensors. A folder that diffusers saved, or one .safetensors file with the names of diffusers or the original ones, alone or in a whole checkpoint.",
    default: found("the model's own"),
    cli: { flags: "--unet <PATH>" },
  },
  distilled: {
    kind: boolean,
    doc: "Whether the model is distilled for few steps without guidance. By default it then takes 4 steps of `animatelcm` without guidance, as AnimateLCM-SVD does. Weights do not tell.",
    default: found("yes for a scheduler of such models, or where a name says lcm or tcd"),
    cli: {
      flags: "--distilled",
      off: { flag: "--no-distilled", doc: "Treats the model as one of many steps, whatever it is named." },
    },
  },
  singleFile: {
    kind: object({
      ...{ type: "InferenceOptions", imports: ["InferenceOptions"], expected: "an object" },
      is: isObject,
    }),
    doc: "What the weights of a checkpoint in one file cannot tell. `unet/config.json`, `vae/config.json` and `image_encoder/config.json` in the file's folder tell it too; what is only guessed is warned of.",
    default: found("as in the published models"),
  },
  hub: {
    kind: object({
      ...{ type: 'Omit<HubOptions, "signal" | "onProgress" | "dtype">', imports: ["HubOptions"] },
      ...{ expected: "an object", is: isObject },
    }),
    doc: "Where models of the Hugging Face Hub come from and go to.",
    default: found("what the environment says"),
  },
  signal: { ...SIGNAL, doc: "Cancels; opening then throws VdError `cancelled`." },
  onProgress: PROGRESS,
} as const satisfies OptionTable;

/** Options of opening a model as documentation and help show them. */
export const LOAD_GROUP: OptionGroup = {
  title: "Device",
  intro: "`StableVideoDiffusionPipeline.fromPretrained(model, options)` and `fromSingleFile(path, options)`.",
  table: LOAD_TABLE,
};
