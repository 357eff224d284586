import type { OpId } from "@vd/kernels-native";
import {
  type AttentionOptions,
  type CallOptions,
  type ConvOptions,
  gainsByWinograd,
  hasAttentionF8,
  hasAttentionQ8,
  hasConvQ8,
  hasLinearQ8,
  type LinearOptions,
  type QuantizedType,
  type Storage,
  type Tensor,
} from "@vd/tensor";
import type { LayerPrecision } from "../options/choices";

/** The layers of the UNet by what they take, and what each kind is:
 *
 * - `normLinear`: linear layers behind a LayerNorm, that is q, k and v as one product, and the gated half of feed-forward layers;
 * - `gatedLinear`: linear layers behind GEGLU, the second half of feed-forward layers;
 * - `attentionOutput`: linear layers behind attention that leaves them float8;
 * - `projection`: other linear layers over all pixels: behind other attention, into and out of transformers, skip connections;
 * - `temporalConv`: convolutions over frames alone;
 * - `spatialConv`: convolutions over height and width;
 * - `attention`: attention of a frame's tokens to each other, and of a token's frames where queries, keys and values come in float8. */
export type LayerKind =
  | "normLinear"
  | "gatedLinear"
  | "attentionOutput"
  | "projection"
  | "temporalConv"
  | "spatialConv"
  | "attention";

/** In which type layers are computed: in 8 bits, or `full`, in the type of the activations. */
export type LayerType = QuantizedType | "full";

/** The type of every kind of layer. */
export type PrecisionPlan = Readonly<Record<LayerKind, LayerType>>;

/** A choice of {@link LayerPrecision} that has layers in 8 bits. */
export type EightBitPrecision = Exclude<LayerPrecision, "full">;

/** What stays in each choice, and why: projections, whose inputs would be rounded by a launch of their own that costs what the product
 *  gains. */
const STAYS = { projection: "full" } as const;

/** The layers of each choice. Behind a LayerNorm tokens are of one size, which suits integers; a convolution's input has one scale, and
 *  large numbers behind its SiLU, which suits floats. With a calibration table `mixed8` takes for each layer the type of the smaller error. */
export const PRECISION_PLANS: Readonly<Record<EightBitPrecision, PrecisionPlan>> = {
  fp8: {
    ...{ ...STAYS, normLinear: "f8e4m3", gatedLinear: "f8e4m3", temporalConv: "f8e4m3" },
    ...{ spatialConv: "f8e4m3", attention: "f8e4m3", attentionOutput: "f8e4m3" },
  },
  int8: {
    ...{ ...STAYS, normLinear: "i8", gatedLinear: "i8", temporalConv: "i8" },
    ...{ spatialConv: "full", attention: "i8", attentionOutput: "full" },
  },
  mixed8: {
    ...{ ...STAYS, normLinear: "i8", gatedLinear: "i8", temporalConv: "f8e4m3" },
    ...{ spatialConv: "full", attention: "f8e4m3", attentionOutput: "full" },
  },
};

/** Layers of fewer input or output channels stay: the first and the last convolution. So do embeddings, one vector for a clip or frame. */
export const LEAST_CHANNELS = 32;
/** Layers of so many rows, pixels of all frames, take as long as their results take to be written, unless they have many channels: then a
 *  product in 8 bits gains nothing. */
export const MANY_ROWS = 65_536;
/** With which sizes layers of many rows gain: the fewest input channels behind a norm, and the fewest results behind a gate whose codes take
 *  a pass of their own. */
const LEAST_OF_MANY_ROWS = { normLinear: 640, gatedLinear: 1280 } as const;

/** Convolutions over pixels of fewer input or output channels stay: they wait for memory, not for products. So do those that Winograd's
 *  transforms are for, which take little more time in 16 bits with 1/23 of the error, and those that halve or double height and width: no
 *  norm gives them codes, and they lie on the way that all others only add to. */
export const LEAST_SPATIAL_CHANNELS = 320;

/** Attention over fewer tokens stays: rounding q, k and v takes what 8 bits gain. On an H100 9216 tokens take 5.0 ms in 8 bits and 10.0 in 16,
 *  2304 tokens 0.9 in 8. Where it begins to gain was not measured. */
export const LEAST_ATTENTION_TOKENS = 2048;
/** The same where q, k and v come in float8, so that nothing rounds them. On an H200 576 tokens take 0.19 ms in place of 0.25 in 16 bits, and
 *  the layer in front 0.21 in place of 0.23. Fewer were not measured. */
export const LEAST_ATTENTION_TOKENS_IN_CODES = 512;
/** The only width of heads that there are kernels for. */
const ATTENTION_HEAD = 64;
/** Most frames that the kernel for attention over them keeps in registers. */
const MOST_ATTENTION_FRAMES = 32;

/** What made a tensor. */
interface Origin {
  op: OpId;
  call: CallOptions;
}

/** True for activations that multiply two halves of the channels. */
export const isGated = (act: LinearOptions["act"]): boolean => act === "geglu" || act === "swiglu";

const areWide = ({ dims }: Tensor) => Math.min(dims[0]!, dims[1]!) >= LEAST_CHANNELS;
/** False for one vector for a clip or frame: embeddings of the time step and of frames. */
const arePixels = ({ dims }: Tensor) => dims.slice(2, -1).some((size) => size > 1);

const hasManyRows = ({ dims }: Tensor) => dims.slice(0, -1).reduce((rows, size) => rows * size, 1) >= MANY_ROWS;

const hasKernelHeads = ({ k, heads }: AttentionOptions) => k.dims[3] === ATTENTION_HEAD * heads;

/** What is known of a layer besides its call. */
interface LayerPlace {
  /** Whether codes pass between the two halves of a feed-forward layer, the gated one of which leaves them, or attention leaves them: then
   *  layers gain whatever their sizes. */
  areCodesPassed: boolean;
  /** Whether the norm in front is part of the layer, so that codes of its tokens never lie in memory: then queries, keys and values gain, too. */
  isNormInside: boolean;
  /** Whether the layer that leaves queries, keys and values can leave them in float8: then attention over frames gains, too, which else takes
   *  as long as they take to be read. */
  areOperandsCodes: boolean;
}

function linearKind(
  call: LinearOptions,
  origin: Origin | undefined,
  { areCodesPassed, isNormInside }: LayerPlace,
): LayerKind | undefined {
  if (!hasLinearQ8(call) || !areWide(call.weight) || !arePixels(call.x)) return undefined;
  const [results, channels] = call.weight.dims as [number, number];
  const isLarge = hasManyRows(call.x) && !areCodesPassed;
  if (origin?.op === "layer_norm")
    return isLarge && !isNormInside && channels < LEAST_OF_MANY_ROWS.normLinear ? undefined : "normLinear";
  if (origin?.op === "attention")
    return areCodesPassed && hasKernelHeads(origin.call as AttentionOptions) ? "attentionOutput" : "projection";
  const isBehindGate = origin?.op === "linear" && isGated((origin.call as LinearOptions).act);
  if (!isBehindGate) return "projection";
  return isLarge && results < LEAST_OF_MANY_ROWS.gatedLinear ? undefined : "gatedLinear";
}

function attentionKind(call: AttentionOptions, { areOperandsCodes }: LayerPlace): LayerKind | undefined {
  const [, frames, tokens] = call.k.dims as [number, number, number];
  if (!hasKernelHeads(call)) return undefined;
  if (areOperandsCodes && !hasAttentionF8(call)) return undefined;
  if (call.axis === "time") return areOperandsCodes && frames <= MOST_ATTENTION_FRAMES ? "attention" : undefined;
  const least = areOperandsCodes ? LEAST_ATTENTION_TOKENS_IN_CODES : LEAST_ATTENTION_TOKENS;
  return hasAttentionQ8(call) && tokens >= least ? "attention" : undefined;
}

/** Whether Winograd's transforms are for a convolution of one clip: of rows of guidance each is computed alike, also apart, and whatever the
 *  device computes in. */
const isTransformed = ({ x, ...call }: ConvOptions): boolean =>
  gainsByWinograd({ ...call, x: { ...x, dtype: "f16", dims: [1, ...x.dims.slice(1)] } });

function convKind(call: ConvOptions, origin: Origin | undefined): LayerKind | undefined {
  if (!hasConvQ8(call) || !areWide(call.weight) || !arePixels(call.x)) return undefined;
  const [results, channels, frames, rows, columns] = call.weight.dims as [number, number, number, number, number];
  if (frames > 1 && rows === 1 && columns === 1) return "temporalConv";
  const hasMany = Math.min(results, channels) >= LEAST_SPATIAL_CHANNELS;
  return hasMany && origin?.op === "group_norm" && !isTransformed(call) ? "spatialConv" : undefined;
}

/** Remembers what made each tensor of a graph, and tells by that which layers can be computed in 8 bits. */
export class LayerKinds {
  private readonly origins = new WeakMap<Storage, Origin>();

  /** Says what a tensor comes from. */
  note(result: Tensor, op: OpId, call: CallOptions): void {
    this.origins.set(result.storage, { op, call });
  }

  /** Returns the kind of a layer; undefined for what has no 8-bit form, or gains nothing by it. */
  of(op: OpId, call: CallOptions, place: LayerPlace): LayerKind | undefined {
    const origin = this.origins.get((call as { x?: Tensor }).x?.storage as Storage);
    if (op === "linear") return linearKind(call as LinearOptions, origin, place);
    if (op === "conv") return convKind(call as ConvOptions, origin);
    return op === "attention" ? attentionKind(call as AttentionOptions, place) : undefined;
  }
}
