import { requireArgument, requireFields, shownJson, VdError } from "@vd/kernels-native";
import { MAX_LAYERS, MAX_LEVELS, MAX_WIDTH } from "@vd/tensor";
import { CHANNELS, JSON_OBJECT } from "../wanted";

/** What `vae/config.json` says of an AutoencoderKLTemporalDecoder. */
export interface VaeConfig {
  /** Channels per level, from the picture inwards; each level but the last halves the size. */
  blockOutChannels: readonly number[];
  /** Whether the encoder attends behind each residual block of the level. */
  encoderAttention: readonly boolean[];
  layersPerBlock: number;
  inChannels: number;
  outChannels: number;
  latentChannels: number;
  /** Latents are multiplied by it after encoding, divided by it before decoding. */
  scalingFactor: number;
  /** A half-precision pipeline encodes in float32. */
  forceUpcast: boolean;
}

/** Group norms of the autoencoder have 32 groups. */
export const NORM_GROUPS = 32;

/** Down blocks whose result is the next one's input; attending ones have one head over all channels. */
const DOWN_BLOCKS: Readonly<Record<string, boolean>> = { DownEncoderBlock2D: false, AttnDownEncoderBlock2D: true };

type Json = Record<string, unknown>;

function fail(where: string, key: string, expected: string, got: unknown): never {
  throw new VdError({ code: "weights", where: `${where}] [${key}`, expected, got: shownJson(got) });
}

function readNumber(where: string, json: Json, key: string, fallback: number): number {
  const value = json[key] ?? fallback;
  if (typeof value !== "number" || !(value > 0 && value < Infinity)) fail(where, key, "a positive number", value);
  return value;
}

const isCount = (value: unknown, max: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max;

function readCount(where: string, json: Json, key: string, fallback: number, max = MAX_WIDTH): number {
  const value = json[key] ?? fallback;
  if (!isCount(value, max)) fail(where, key, `a positive whole number of at most ${max}`, value);
  return value;
}

const isDownBlock = (type: unknown) => typeof type === "string" && Object.hasOwn(DOWN_BLOCKS, type);

/**
 * Parses `vae/config.json`; missing keys take the reference's defaults. where: the file, for messages. Source:
 * huggingface/diffusers@58eb52c autoencoder_kl_temporal_decoder.py.
 *
 * @throws VdError `weights`
 */
export function parseVaeConfig(json: Json, where = "vae/config.json"): VaeConfig {
  requireArgument(where, json, JSON_OBJECT);
  const channels = json.block_out_channels ?? [64];
  if (
    !Array.isArray(channels) ||
    channels.length === 0 ||
    channels.length > MAX_LEVELS ||
    !channels.every((c) => isCount(c, MAX_WIDTH) && c % NORM_GROUPS === 0)
  )
    fail(where, "block_out_channels", `a list of at most ${MAX_LEVELS} positive multiples of ${NORM_GROUPS}`, channels);
  const types = json.down_block_types ?? channels.map(() => "DownEncoderBlock2D");
  if (!Array.isArray(types) || types.length !== channels.length || !types.every(isDownBlock))
    fail(where, "down_block_types", `${channels.length} of ${Object.keys(DOWN_BLOCKS).join(", ")}`, types);
  return {
    blockOutChannels: channels as number[],
    encoderAttention: types.map((type) => DOWN_BLOCKS[String(type)]!),
    layersPerBlock: readCount(where, json, "layers_per_block", 1, MAX_LAYERS),
    inChannels: readCount(where, json, "in_channels", 3),
    outChannels: readCount(where, json, "out_channels", 3),
    latentChannels: readCount(where, json, "latent_channels", 4),
    scalingFactor: readNumber(where, json, "scaling_factor", 0.18215),
    forceUpcast: json.force_upcast !== false,
  };
}

/** Factor by which encoding shrinks height and width. @throws VdError `attr` for what is no configuration */
export function spatialFactor(config: VaeConfig): number {
  requireFields("spatialFactor config", config, { blockOutChannels: CHANNELS });
  return 2 ** (config.blockOutChannels.length - 1);
}
