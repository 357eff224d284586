import { having, oneOfThese, requireArgument, TEXT } from "@vd/kernels-native";
import { NAMES } from "../checkpoint/name-pair";
import type { WeightFormat } from "./settings";

/** Which files of a repository make up an SVD model. */
export interface FileSelection {
  files: string[];
  /** Files without which the model cannot be loaded and which are not among the names; empty if complete. */
  missing: string[];
  /** True if every weight file is of the variant asked for, not a substitute. */
  exact: boolean;
}

const WEIGHT_COMPONENTS: Readonly<Record<string, string>> = {
  unet: "diffusion_pytorch_model",
  vae: "diffusion_pytorch_model",
  image_encoder: "model",
};
const REQUIRED_CONFIGS = [
  "model_index.json",
  "scheduler/scheduler_config.json",
  "unet/config.json",
  "vae/config.json",
  "image_encoder/config.json",
];
const OPTIONAL_CONFIGS = /^(?:feature_extractor\/[^/]+\.json|scheduler\/[^/]+\.json)$/;
/** Variants in the order in which they are taken; "" is the file without a variant. */
const VARIANTS: Readonly<Record<WeightFormat, readonly string[]>> = {
  fp32: ["", "fp16", "bf16"],
  fp16: ["fp16", "", "bf16"],
  bf16: ["bf16", "", "fp16"],
};

/** What a {@link WeightFormat} must be. */
export const FORMAT = oneOfThese(Object.keys(VARIANTS));

/**
 * Picks what the pipeline reads out of all names of a repository or folder: configurations and, for each network, one
 * set of safetensors files. Copies in other formats (.bin, .ckpt, .onnx, .msgpack), other variants and single-file
 * checkpoints are left out. The order of names does not matter.
 * Source of the naming: huggingface/diffusers@58eb52c src/diffusers/pipelines/pipeline_loading_utils.py.
 */
export function selectModelFiles(names: Iterable<string>, dtype: WeightFormat): FileSelection {
  requireArgument("selectModelFiles names", names, having("a list of names", [Symbol.iterator]));
  requireArgument("selectModelFiles dtype", dtype, FORMAT);
  const present = new Set(names);
  const files = [...present].filter((name) => OPTIONAL_CONFIGS.test(name) || REQUIRED_CONFIGS.includes(name));
  const missing = REQUIRED_CONFIGS.filter((name) => !present.has(name));
  let exact = true;
  for (const component of Object.keys(WEIGHT_COMPONENTS)) {
    const weights = selectWeightFiles(present, component, dtype);
    if (weights === undefined) {
      missing.push(`${component}/${WEIGHT_COMPONENTS[component]}.safetensors`);
      continue;
    }
    files.push(...weights.files);
    exact &&= weights.variant === VARIANTS[dtype][0];
  }
  return { files: files.sort(), missing, exact };
}

/**
 * The weight files of one network (`unet`, `vae`, `image_encoder`): one file, or an index followed by its shards.
 * Names are relative to the model's folder. Undefined if there is no complete set of safetensors files.
 */
export function selectWeightFiles(
  names: ReadonlySet<string>,
  component: string,
  dtype: WeightFormat,
): { files: string[]; variant: string } | undefined {
  requireArgument("selectWeightFiles names", names, NAMES);
  requireArgument("selectWeightFiles component", component, TEXT);
  requireArgument("selectWeightFiles dtype", dtype, FORMAT);
  const stem = `${component}/${WEIGHT_COMPONENTS[component] ?? "model"}`;
  for (const variant of VARIANTS[dtype]) {
    const single = variant === "" ? `${stem}.safetensors` : `${stem}.${variant}.safetensors`;
    if (names.has(single)) return { files: [single], variant };
    const sharded = shardedFiles(names, stem, variant);
    if (sharded !== undefined) return { files: sharded, variant };
  }
  return undefined;
}

function shardedFiles(names: ReadonlySet<string>, stem: string, variant: string): string[] | undefined {
  // With a variant there are two spellings of each name, the newer one first.
  const indexNames =
    variant === ""
      ? [`${stem}.safetensors.index.json`]
      : [`${stem}.safetensors.index.${variant}.json`, `${stem}.safetensors.${variant}.index.json`];
  const index = indexNames.find((name) => names.has(name));
  if (index === undefined) return undefined;
  const patterns =
    variant === ""
      ? [[`${stem}-`, ".safetensors"] as const]
      : [[`${stem}.${variant}-`, ".safetensors"] as const, [`${stem}-`, `.${variant}.safetensors`] as const];
  for (const [before, after] of patterns) {
    const shards = completeShards(names, before, after);
    if (shards !== undefined) return [index, ...shards];
  }
  return undefined;
}

/** All of `<before>00001-of-0000N<after>`, or undefined if one is missing. */
function completeShards(names: ReadonlySet<string>, before: string, after: string): string[] | undefined {
  const found = [...names].filter((name) => name.startsWith(before) && name.endsWith(after));
  for (const name of found) {
    const count = Number(/^00001-of-(\d{5})$/.exec(name.slice(before.length, name.length - after.length))?.[1]);
    if (!(count >= 1)) continue;
    const total = String(count).padStart(5, "0");
    const shards = Array.from(
      { length: count },
      (_, i) => `${before}${String(i + 1).padStart(5, "0")}-of-${total}${after}`,
    );
    if (shards.every((shard) => names.has(shard))) return shards;
  }
  return undefined;
}
