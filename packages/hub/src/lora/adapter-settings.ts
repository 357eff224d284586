import { VdError } from "@vd/kernels-native";

/** What a PEFT configuration says of all modules or of some. Source: huggingface/peft tuners/lora/config.py. */
export interface AdapterSettings {
  alpha: number | undefined;
  /** The scale is alpha/√rank instead of alpha/rank. */
  usesRankStabilised: boolean;
  /** Alpha of modules whose names end in the key. */
  alphaPattern: Readonly<Record<string, number>>;
}

/** Where nothing is said: alpha is the rank. */
export const NO_SETTINGS: AdapterSettings = { alpha: undefined, usesRankStabilised: false, alphaPattern: {} };

/**
 * Reads the settings out of a PEFT configuration. where: the file; prefix: of the keys, such as `unet.`.
 *
 * @throws VdError `unsupported` for DoRA, `weights` for values of another type
 */
export function parseAdapterSettings(where: string, json: Record<string, unknown>, prefix = ""): AdapterSettings {
  const value = (key: string): unknown => json[`${prefix}${key}`];
  if (value("use_dora") === true) throw doraError(where);
  const alpha = value("lora_alpha") ?? undefined;
  const alphaPattern = value("alpha_pattern") ?? {};
  const patterns = Object.values(Object(alphaPattern));
  const areNumbers = [...(alpha === undefined ? [] : [alpha]), ...patterns].every((item) => typeof item === "number");
  if (!areNumbers)
    throw new VdError({ code: "weights", where, expected: "lora_alpha as a number", got: JSON.stringify(alpha) });
  return {
    alpha: alpha as number | undefined,
    usesRankStabilised: value("use_rslora") === true,
    alphaPattern: alphaPattern as Record<string, number>,
  };
}

/** The error for weights that are split into direction and magnitude. */
export function doraError(where: string): VdError {
  return new VdError({
    code: "unsupported",
    where,
    expected: "a LoRA",
    got: "a DoRA, which also scales every row of a weight to a length of its own",
    hint: "Merge it into the model with the tool that trained it, or train a LoRA.",
  });
}

/** Returns the scale of a module of rank `rank`. alpha: the module's own, if the file has one. */
export function adapterScale(
  module: string,
  rank: number,
  alpha: number | undefined,
  settings: AdapterSettings,
): number {
  const pattern = Object.entries(settings.alphaPattern).find(([key]) => module === key || module.endsWith(`.${key}`));
  const chosen = alpha ?? pattern?.[1] ?? settings.alpha ?? rank;
  return chosen / (settings.usesRankStabilised ? Math.sqrt(rank) : rank);
}
