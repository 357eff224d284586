import { requireArgument, shownJson, VdError } from "@vd/kernels-native";
import { NORM_GROUPS, parseVaeConfig, type VaeConfig } from "../temporal-decoder/config";
import { JSON_OBJECT } from "../wanted";

/** What `vae/config.json` says of an AutoencoderKL. */
export interface PictureVaeConfig extends VaeConfig {
  /** Added to latents before decoding divides them, subtracted after encoding. */
  shiftFactor: number;
  /** Whether 1×1 convolutions stand behind the encoder and before the decoder. */
  quantConv: boolean;
  postQuantConv: boolean;
}

/** Keys whose other values no code here computes. */
const FIXED: readonly (readonly [key: string, value: unknown])[] = [
  ["act_fn", "silu"],
  ["norm_num_groups", NORM_GROUPS],
  ["mid_block_add_attention", true],
  ["latents_mean", null],
  ["latents_std", null],
];

/**
 * Parses `vae/config.json` of an AutoencoderKL; missing keys take the reference's defaults. where: the file, for messages.
 * Source: huggingface/diffusers@58eb52c models/autoencoders/autoencoder_kl.py.
 *
 * @throws VdError `weights`, `unsupported` for parts that are not built here
 */
export function parsePictureVaeConfig(json: Record<string, unknown>, where = "vae/config.json"): PictureVaeConfig {
  requireArgument(where, json, JSON_OBJECT);
  const fail = (code: "weights" | "unsupported", key: string, expected: string): never => {
    throw new VdError({ code, where: `${where}] [${key}`, expected, got: shownJson(json[key]) });
  };
  for (const [key, value] of FIXED) if ((json[key] ?? value) !== value) fail("unsupported", key, shownJson(value));
  const base = parseVaeConfig(json, where);
  const up = json.up_block_types ?? base.blockOutChannels.map(() => "UpDecoderBlock2D");
  const isPlain = Array.isArray(up) && up.length === base.blockOutChannels.length;
  if (!isPlain || up.some((kind) => kind !== "UpDecoderBlock2D"))
    fail("unsupported", "up_block_types", `${base.blockOutChannels.length} of UpDecoderBlock2D`);
  const shiftFactor = json.shift_factor ?? 0;
  if (typeof shiftFactor !== "number" || !Number.isFinite(shiftFactor)) fail("weights", "shift_factor", "a number");
  const flag = (key: string) => {
    const value = json[key] ?? true;
    return typeof value === "boolean" ? value : fail("weights", key, "true or false");
  };
  return {
    ...base,
    shiftFactor: shiftFactor as number,
    quantConv: flag("use_quant_conv"),
    postQuantConv: flag("use_post_quant_conv"),
  };
}
