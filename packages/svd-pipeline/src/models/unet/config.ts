import { OBJECT, requireArgument, shownJson, VdError } from "@vd/kernels-native";
import { MAX_LAYERS, MAX_LEVELS, MAX_WIDTH, NUM_GROUPS } from "@vd/tensor";

/** What `unet/config.json` says of a UNetSpatioTemporalConditionModel; per-level lists are filled in. */
export interface UnetConfig {
  inChannels: number;
  outChannels: number;
  /** Channels per level, from full size down. */
  blockOutChannels: readonly number[];
  /** Whether the level's down block has attention. */
  downAttention: readonly boolean[];
  /** Whether the up block has attention, from the smallest level up. */
  upAttention: readonly boolean[];
  layersPerBlock: readonly number[];
  transformerLayers: readonly number[];
  numHeads: readonly number[];
  crossAttentionDim: readonly number[];
  /** Width of the embedding of each micro-condition. */
  additionTimeEmbedDim: number;
  /** Width of all of them together. */
  additionEmbedInput: number;
  /** Frames that the model was trained for. */
  numFrames: number;
}

type Json = Record<string, unknown>;

const DOWN = { CrossAttnDownBlockSpatioTemporal: true, DownBlockSpatioTemporal: false } as const;
const UP = { CrossAttnUpBlockSpatioTemporal: true, UpBlockSpatioTemporal: false } as const;

const isCount = (value: unknown, max: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max;

const isNameIn = (known: object, name: unknown) => typeof name === "string" && Object.hasOwn(known, name);

class Reader {
  constructor(
    private readonly json: Json,
    private readonly where: string,
  ) {
    requireArgument(where, json, { ...OBJECT, code: "weights" });
  }

  fail(key: string, expected: string, got: unknown): never {
    throw new VdError({
      code: "weights",
      where: `${this.where}] [${key}`,
      expected,
      got: shownJson(got),
    });
  }

  int(key: string, fallback: number): number {
    const value = this.json[key] ?? fallback;
    if (!isCount(value, MAX_WIDTH)) this.fail(key, `a positive whole number of at most ${MAX_WIDTH}`, value);
    return value;
  }

  /** A list of one number per level, or one number for all. levels: how many there are, if that is known. */
  perLevel(key: string, fallback: number | readonly number[], levels?: number, max = MAX_WIDTH): number[] {
    const value = this.json[key] ?? fallback;
    const list =
      typeof value === "number" && levels !== undefined ? Array.from({ length: levels }, () => value) : value;
    const expected =
      levels === undefined
        ? `a list of at most ${MAX_LEVELS} positive whole numbers`
        : `a positive whole number of at most ${max}, or ${levels} of them`;
    const fits = Array.isArray(list) && list.length > 0 && list.length === (levels ?? list.length);
    if (!fits || list.length > MAX_LEVELS || !list.every((item) => isCount(item, max))) this.fail(key, expected, value);
    return list as number[];
  }

  kinds(key: string, known: Readonly<Record<string, boolean>>, fallback: readonly string[], levels: number): boolean[] {
    const value = this.json[key] ?? fallback;
    if (!Array.isArray(value) || value.length !== levels || value.some((kind) => !isNameIn(known, kind)))
      this.fail(key, `${levels} of ${Object.keys(known).join(", ")}`, value);
    return value.map((kind) => known[String(kind)]!);
  }
}

/**
 * Parses `unet/config.json`; missing keys take the reference's defaults. where: the file, for messages. Source:
 * huggingface/diffusers@58eb52c unets/unet_spatio_temporal_condition.py.
 *
 * @throws VdError `weights`
 */
export function parseUnetConfig(json: Json, where = "unet/config.json"): UnetConfig {
  const read = new Reader(json, where);
  const blockOutChannels = read.perLevel("block_out_channels", [320, 640, 1280, 1280]);
  const levels = blockOutChannels.length;
  if (blockOutChannels.some((channels) => channels % NUM_GROUPS !== 0))
    read.fail("block_out_channels", `multiples of ${NUM_GROUPS}`, blockOutChannels);
  const downDefault = blockOutChannels.map((_, i) =>
    i < levels - 1 ? "CrossAttnDownBlockSpatioTemporal" : "DownBlockSpatioTemporal",
  );
  const upDefault = blockOutChannels.map((_, i) =>
    i > 0 ? "CrossAttnUpBlockSpatioTemporal" : "UpBlockSpatioTemporal",
  );
  const numHeads = read.perLevel("num_attention_heads", [5, 10, 20, 20], levels);
  numHeads.forEach((heads, i) => {
    if (blockOutChannels[i]! % heads !== 0)
      read.fail("num_attention_heads", `divisors of ${blockOutChannels}`, numHeads);
  });
  return {
    inChannels: read.int("in_channels", 8),
    outChannels: read.int("out_channels", 4),
    blockOutChannels,
    downAttention: read.kinds("down_block_types", DOWN, downDefault, levels),
    upAttention: read.kinds("up_block_types", UP, upDefault, levels),
    layersPerBlock: read.perLevel("layers_per_block", 2, levels, MAX_LAYERS),
    transformerLayers: read.perLevel("transformer_layers_per_block", 1, levels, MAX_LAYERS),
    numHeads,
    crossAttentionDim: read.perLevel("cross_attention_dim", 1024, levels),
    additionTimeEmbedDim: read.int("addition_time_embed_dim", 256),
    additionEmbedInput: read.int("projection_class_embeddings_input_dim", 768),
    numFrames: read.int("num_frames", 25),
  };
}
