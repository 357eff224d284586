import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readJson } from "@vd/hub";
import type { VaeConfig } from "@vd/vae-opt";
import type { ComponentName, InferenceOptions } from "../checkpoint/index";
import type { ClipVisionConfig, UnetConfig } from "../models/index";
import type { WarningListener } from "./warnings";

/** A field of a configuration that weights do not tell, and where else its value can come from. */
interface Untold<Config> {
  readonly field: keyof Config;
  /** The option that says it, where there is one. */
  readonly option?: keyof InferenceOptions;
  /** What it is, for warnings: `the heads`. */
  readonly what: string;
}

/** One network's configuration as far as weights tell it. */
export interface UntoldRules<Config> {
  readonly component: ComponentName;
  readonly parse: (json: Record<string, unknown>, where: string) => Config;
  readonly untold: readonly Untold<Config>[];
  /** True for the published model, whose other values are known. */
  readonly isPublished: (config: Config) => boolean;
}

const isList = (found: readonly number[], ...wanted: readonly number[]) => String(found) === String(wanted);

/** What the image encoder's weights do not tell. */
export const CLIP_UNTOLD: Omit<UntoldRules<ClipVisionConfig>, "parse"> = {
  component: "image_encoder",
  untold: [
    { field: "act", option: "clipActivation", what: "the activation" },
    { field: "numHeads", option: "clipHeads", what: "the number of attention heads" },
    { field: "layerNormEps", what: "the epsilon of norms" },
  ],
  isPublished: ({ hiddenSize, numLayers, patchSize }) => hiddenSize === 1280 && numLayers === 32 && patchSize === 14,
};

/** What the UNet's weights do not tell. */
export const UNET_UNTOLD: Omit<UntoldRules<UnetConfig>, "parse"> = {
  component: "unet",
  untold: [
    { field: "numHeads", option: "headChannels", what: "the number of attention heads" },
    { field: "numFrames", option: "numFrames", what: "the number of frames" },
  ],
  isPublished: ({ blockOutChannels }) => isList(blockOutChannels, 320, 640, 1280, 1280),
};

/** What the autoencoder's weights do not tell. */
export const VAE_UNTOLD: Omit<UntoldRules<VaeConfig>, "parse"> = {
  component: "vae",
  untold: [
    { field: "scalingFactor", option: "scalingFactor", what: "the scale of latents" },
    { field: "forceUpcast", what: "the precision of encoding" },
  ],
  isPublished: ({ blockOutChannels }) => isList(blockOutChannels, 128, 256, 512, 512),
};

/** The configuration in the folder layout beside the file, if there is one. */
async function readBeside<Config>(
  path: string,
  { component, parse }: UntoldRules<Config>,
): Promise<Config | undefined> {
  const beside = join(dirname(path), component, "config.json");
  return existsSync(beside) ? parse(await readJson(beside), beside) : undefined;
}

/** True if both describe the same weights. */
export function sameWeights<Config>(a: Config, b: Config, { untold }: UntoldRules<Config>): boolean {
  const told = (config: Config) =>
    JSON.stringify({ ...config, ...Object.fromEntries(untold.map(({ field }) => [field, null])) });
  return told(a) === told(b);
}

/**
 * Fills in what a network's weights do not tell: by the options, by a configuration of the same network in the folder
 * layout beside the file (as repositories have both), or as in the published models; a value that is only guessed is
 * warned of.
 *
 * @param config as it follows from weights and options
 * @throws VdError `io` or `weights` for a configuration beside the file that cannot be read
 */
export async function withUntold<Config>(
  path: string,
  config: Config,
  rules: UntoldRules<Config>,
  options: InferenceOptions,
  onWarning: WarningListener,
): Promise<Config> {
  const open = rules.untold.filter(({ option }) => option === undefined || options[option] === undefined);
  const beside = await readBeside(path, rules);
  if (beside && sameWeights(config, beside, rules))
    return { ...config, ...Object.fromEntries(open.map(({ field }) => [field, beside[field]])) };
  if (rules.isPublished(config)) return config;
  for (const { field, option, what } of open) {
    if (option === undefined) continue;
    onWarning(
      `${path}: ${what} of ${rules.component} is not in the weights; ${JSON.stringify(config[field])} is a guess. ` +
        `Pass singleFile.${option}, or put the model's ${rules.component}/config.json into the folder of the file.`,
    );
  }
  return config;
}
