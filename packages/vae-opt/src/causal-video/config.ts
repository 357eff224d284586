import { requireArgument, requireFields, shownJson, VdError, wholeFrom } from "@vd/kernels-native";
import { MAX_LAYERS, MAX_LEVELS, MAX_WIDTH } from "@vd/tensor";
import { CHANNELS, JSON_OBJECT } from "../wanted";

/** What describes a causal video autoencoder. */
export interface CausalVaeConfig {
  /** Channels per level, from the picture inwards; each level but the last halves height and width. */
  blockOutChannels: readonly number[];
  layersPerBlock: number;
  inChannels: number;
  outChannels: number;
  latentChannels: number;
  /** Groups of every group norm. */
  normGroups: number;
  /** How many levels halve the number of frames: the innermost of those that halve the size. */
  temporalLevels: number;
  /** Whether a 1×1×1 convolution stands behind the encoder, and one before the decoder. */
  quantConv: boolean;
  postQuantConv: boolean;
  /** What SeedVR's transformer sees is the latents times this. */
  scalingFactor: number;
}

/** The published autoencoder of SeedVR and SeedVR2, `ema_vae`. Source: ByteDance-Seed/SeedVR@673b563
 *  models/video_vae_v3/s8_c16_t4_inflation_sd3.yaml, configs_3b/main.yaml. */
export const SEEDVR2_VAE_CONFIG: CausalVaeConfig = {
  blockOutChannels: [128, 256, 512, 512],
  layersPerBlock: 2,
  inChannels: 3,
  outChannels: 3,
  latentChannels: 16,
  normGroups: 32,
  temporalLevels: 2,
  quantConv: false,
  postQuantConv: false,
  scalingFactor: 0.9152,
};

type Json = Record<string, unknown>;

function fail(where: string, key: string, expected: string, got: unknown): never {
  throw new VdError({ code: "weights", where: `${where}] [${key}`, expected, got: shownJson(got) });
}

const isCount = (value: unknown, max: number, min = 1): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;

function readCount(where: string, json: Json, key: string, fallback: number, max = MAX_WIDTH, min = 1): number {
  const value = json[key] ?? fallback;
  if (!isCount(value, max, min)) fail(where, key, `a whole number from ${min} to ${max}`, value);
  return value;
}

function readFlag(where: string, json: Json, key: string, fallback: boolean): boolean {
  const value = json[key] ?? fallback;
  if (typeof value !== "boolean") fail(where, key, "true or false", value);
  return value;
}

/** Checks that a key, if it is there, has the only value that is supported. */
function expectOnly(where: string, json: Json, key: string, only: unknown): void {
  const value = json[key];
  const same = Array.isArray(value) ? value.every((each) => each === only) : value === only;
  if (value !== undefined && value !== null && !same) fail(where, key, shownJson(only), value);
}

function readChannels(where: string, json: Json, groups: number): number[] {
  const channels = json.block_out_channels ?? [64];
  const fits = (c: unknown): c is number => isCount(c, MAX_WIDTH) && c % groups === 0;
  if (!Array.isArray(channels) || channels.length === 0 || channels.length > MAX_LEVELS || !channels.every(fits))
    fail(where, "block_out_channels", `a list of at most ${MAX_LEVELS} positive multiples of ${groups}`, channels);
  return channels;
}

/** The factor that the file states for checking must be the one that follows from the levels. */
function expectFactor(where: string, json: Json, key: string, follows: number): void {
  const value = json[key];
  if (value !== undefined && value !== null && value !== follows)
    fail(where, key, `${follows}, which follows from the levels`, value);
}

function readScale(where: string, json: Json): number {
  const value = json.scaling_factor ?? SEEDVR2_VAE_CONFIG.scalingFactor;
  if (typeof value !== "number" || !(value > 0 && value < Infinity))
    fail(where, "scaling_factor", "a positive number", value);
  return value;
}

/**
 * Parses the configuration of a VideoAutoencoderKL, the arguments of the reference's class; missing keys take its
 * defaults. where: the file, for messages. Source: ByteDance-Seed/SeedVR@673b563
 * models/video_vae_v3/modules/attn_video_vae.py VideoAutoencoderKL, VideoAutoencoderKLWrapper.
 *
 * @throws VdError `weights`
 */
export function parseCausalVaeConfig(json: Json, where = "config.json"): CausalVaeConfig {
  requireArgument(where, json, JSON_OBJECT);
  expectOnly(where, json, "act_fn", "silu");
  expectOnly(where, json, "down_block_types", "DownEncoderBlock3D");
  expectOnly(where, json, "up_block_types", "UpDecoderBlock3D");
  expectOnly(where, json, "time_receptive_field", "full");
  expectOnly(where, json, "attention", true);
  expectOnly(where, json, "slicing_up_num", 0);
  const normGroups = readCount(where, json, "norm_num_groups", 32);
  const blockOutChannels = readChannels(where, json, normGroups);
  const halvings = blockOutChannels.length - 1;
  const temporalLevels = readCount(where, json, "temporal_scale_num", 2, MAX_LEVELS, 0);
  if (temporalLevels > halvings)
    fail(where, "temporal_scale_num", `at most ${halvings}, one less than there are levels`, temporalLevels);
  expectFactor(where, json, "spatial_downsample_factor", 2 ** halvings);
  expectFactor(where, json, "temporal_downsample_factor", 2 ** temporalLevels);
  return {
    blockOutChannels,
    layersPerBlock: readCount(where, json, "layers_per_block", 1, MAX_LAYERS),
    inChannels: readCount(where, json, "in_channels", 3),
    outChannels: readCount(where, json, "out_channels", 3),
    latentChannels: readCount(where, json, "latent_channels", 4),
    normGroups,
    temporalLevels,
    quantConv: readFlag(where, json, "use_quant_conv", true),
    postQuantConv: readFlag(where, json, "use_post_quant_conv", true),
    scalingFactor: readScale(where, json),
  };
}

/**
 * Checks a configuration that code gives: what files say is checked when they are parsed. where: whose it is, for
 * messages.
 *
 * @throws VdError `attr`
 */
export function checkCausalVaeConfig(config: CausalVaeConfig, where = "config"): void {
  const refuse = (key: string, expected: string, got: unknown): never => {
    throw new VdError({ code: "attr", where: `${where}] [${key}`, expected, got: shownJson(got) });
  };
  const channels = config?.blockOutChannels;
  const groups = config?.normGroups;
  if (!isCount(groups, MAX_WIDTH)) refuse("normGroups", `a whole number from 1 to ${MAX_WIDTH}`, groups);
  const fits = (c: unknown) => isCount(c, MAX_WIDTH) && c % groups === 0;
  if (!Array.isArray(channels) || channels.length === 0 || channels.length > MAX_LEVELS || !channels.every(fits))
    refuse("blockOutChannels", `a list of 1 to ${MAX_LEVELS} positive multiples of ${groups}`, channels);
  const most = channels.length - 1;
  if (!isCount(config.temporalLevels, most, 0))
    refuse("temporalLevels", `a whole number from 0 to ${most}, one less than there are levels`, config.temporalLevels);
  if (!isCount(config.layersPerBlock, MAX_LAYERS))
    refuse("layersPerBlock", `a whole number from 1 to ${MAX_LAYERS}`, config.layersPerBlock);
  for (const key of ["inChannels", "outChannels", "latentChannels"] as const)
    if (!isCount(config[key], MAX_WIDTH)) refuse(key, `a whole number from 1 to ${MAX_WIDTH}`, config[key]);
}

/** Factor by which encoding shrinks height and width. @throws VdError `attr` for what is no configuration */
export function pictureFactor(config: CausalVaeConfig): number {
  requireFields("pictureFactor config", config, { blockOutChannels: CHANNELS });
  return 2 ** (config.blockOutChannels.length - 1);
}

const TEMPORAL_LEVELS = { temporalLevels: wholeFrom(0) };

/** Factor by which encoding shrinks the number of frames behind the first one. @throws VdError `attr` for what is no configuration */
export function frameFactor(config: CausalVaeConfig): number {
  requireFields("frameFactor config", config, TEMPORAL_LEVELS);
  return 2 ** config.temporalLevels;
}
