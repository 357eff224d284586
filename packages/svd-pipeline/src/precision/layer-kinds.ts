import type { OpId } from "@vd/kernels-native";
import {
  type AttentionOptions,
  type CallOptions,
  type ConvOptions,
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
 * - `projection`: other linear layers over all pixels: behind attention, into and out of transformers, skip connections;
 * - `temporalConv`: convolutions over frames alone;
 * - `spatialConv`: convolutions over height and width;
 * - `attention`: attention of a frame's tokens to each other. */
export type LayerKind = "normLinear" | "gatedLinear" | "projection" | "temporalConv" | "spatialConv" | "attention";

/** In which type layers are computed: in 8 bits, or `full`, in the type of the activations. */
export type LayerType = QuantizedType | "full";

/** The type of every kind of layer. */
export type PrecisionPlan = Readonly<Record<LayerKind, LayerType>>;

/** A choice of {@link LayerPrecision} that has layers in 8 bits. */
export type EightBitPrecision = Exclude<LayerPrecision, "full">;

/** What stays in each choice, and why: convolutions over pixels, because Winograd's in 16 bits take less time than direct ones in 8, with 1/23
 *  of the error; projections, whose inputs would be rounded by a launch of their own that costs what the product gains; attention,
 *  because it gains nothing on an H200 (9.64 ms in 16 bits, 10.4 to 11.0 with attention_q8). */
const STAYS = { projection: "full", spatialConv: "full", attention: "full" } as const;

/** The layers of each choice. Behind a LayerNorm tokens are of one size, which suits integers; a convolution's input has one scale, and
 *  large numbers behind its SiLU, which suits floats. With a calibration table `mixed8` takes for each layer the type of the smaller error. */
export const PRECISION_PLANS: Readonly<Record<EightBitPrecision, PrecisionPlan>> = {
  fp8: { ...STAYS, normLinear: "f8e4m3", gatedLinear: "f8e4m3", temporalConv: "f8e4m3" },
  int8: { ...STAYS, normLinear: "i8", gatedLinear: "i8", temporalConv: "i8" },
  mixed8: { ...STAYS, normLinear: "i8", gatedLinear: "i8", temporalConv: "f8e4m3" },
};

/** Layers of fewer input or output channels stay: the first and the last convolution. So do embeddings, one vector for a clip or frame. */
export const LEAST_CHANNELS = 32;
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

function linearKind(call: LinearOptions, origin: Origin | undefined): LayerKind | undefined {
  if (!hasLinearQ8(call) || !areWide(call.weight) || !arePixels(call.x)) return undefined;
  if (origin?.op === "layer_norm") return "normLinear";
  const isBehindGate = origin?.op === "linear" && isGated((origin.call as LinearOptions).act);
  return isBehindGate ? "gatedLinear" : "projection";
}

function convKind(call: ConvOptions): LayerKind | undefined {
  if (!hasConvQ8(call) || !areWide(call.weight) || !arePixels(call.x)) return undefined;
  const [, , frames, rows, columns] = call.weight.dims;
  return frames! > 1 && rows === 1 && columns === 1 ? "temporalConv" : "spatialConv";
}

/** Remembers what made each tensor of a graph, and tells by that which layers can be computed in 8 bits. */
export class LayerKinds {
  private readonly origins = new WeakMap<Storage, Origin>();

  /** Says what a tensor comes from. */
  note(result: Tensor, op: OpId, call: CallOptions): void {
    this.origins.set(result.storage, { op, call });
  }

  /** Returns the kind of a layer; undefined for what has no 8-bit form, or is small. */
  of(op: OpId, call: CallOptions): LayerKind | undefined {
    if (op === "linear") return linearKind(call as LinearOptions, this.origins.get((call as LinearOptions).x.storage));
    if (op === "conv") return convKind(call as ConvOptions);
    return op === "attention" && hasAttentionQ8(call as AttentionOptions) ? "attention" : undefined;
  }
}
