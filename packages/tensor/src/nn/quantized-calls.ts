import { FUNCTION, optional, requireArgument, requireFields, requireOptions } from "@vd/kernels-native";
import { makeStorage, packedTensor, type RecordCall } from "../graph";
import type { AttentionOptions, ConvOptions, LinearOptions } from "../graph-ops.generated";
import {
  type CallOptions,
  checkShape,
  elementBytes,
  packedBytes,
  requireTensor,
  reshape,
  type Storage,
  TENSOR,
  type Tensor,
  tokens,
} from "../tensor";
import type { ChangeRow } from "../weights/changed-storage";
import {
  type QuantizedType,
  type QuantizedWeight,
  quantizeUpsamplingWeight,
  quantizeWeight,
  type ScaledPart,
} from "../weights/quantized-weight";
import { CONVOLUTION } from "./convolution-calls";
import { QUANTIZATION, QUANTIZED_WEIGHT } from "./layer";
import type { ActivationQuantization, Quantized } from "./quantized";

/** How a weight is rounded: to which type, and what happens to its rows before. */
export interface WeightRounding {
  dtype: QuantizedType;
  /** The same function for the same change. */
  change?: ChangeRow | undefined;
}

/** A weight in 8 bits, and what it was made of. */
interface KnownWeight {
  weight: Tensor;
  rounding: WeightRounding;
  form: ScaledPart | "upsampling";
  made: QuantizedWeight;
}

/** Weights in 8 bits, each made once however many graphs use it. */
export class QuantizedWeights {
  private readonly known = new WeakMap<Storage, KnownWeight[]>();

  /** Returns a weight in 8 bits, see {@link quantizeWeight}. per: what has a scale of its own. */
  of(weight: Tensor, rounding: WeightRounding, per: ScaledPart = "row"): QuantizedWeight {
    const { dtype, change } = rounding;
    return this.findOrMake(weight, rounding, per, () => quantizeWeight(weight, { dtype, change, per }));
  }

  /** Returns the filters [K,C,1,3,3] of a convolution that upsamples as those of a transposed one, see {@link quantizeUpsamplingWeight}. */
  ofUpsampling(weight: Tensor, rounding: WeightRounding): QuantizedWeight {
    const { dtype, change } = rounding;
    const make = () => quantizeUpsamplingWeight(weight, { dtype, change });
    return this.findOrMake(weight, rounding, "upsampling", make);
  }

  private findOrMake(
    weight: Tensor,
    rounding: WeightRounding,
    form: KnownWeight["form"],
    make: () => QuantizedWeight,
  ): QuantizedWeight {
    const ofStorage = this.known.get(weight.storage) ?? [];
    this.known.set(weight.storage, ofStorage);
    const found = ofStorage.find(
      (each) =>
        each.weight.byteOffset === weight.byteOffset &&
        each.rounding.dtype === rounding.dtype &&
        each.rounding.change === rounding.change &&
        each.form === form,
    );
    if (found) return found.made;
    const made = make();
    ofStorage.push({ weight, rounding, form, made });
    return made;
  }
}

/** A tensor without contents, for a result whose type is not that of the operands. */
export function emptyTensor(dims: readonly number[], dtype: Tensor["dtype"]): Tensor {
  checkShape("emptyTensor", dims, dtype);
  return packedTensor(makeStorage("arena", packedBytes(dims, dtype), "arena"), dims, dtype);
}

/** The operands of a product in 8 bits. */
interface Operands {
  call: unknown;
  codes: unknown;
  weights: unknown;
}

const CODES = { codes: TENSOR, scales: TENSOR };

/** Refuses what no product in 8 bits can be recorded of. @throws VdError `attr` */
function requireProduct(where: string, record: unknown, { call, codes, weights }: Operands): void {
  requireArgument(`${where} record`, record, FUNCTION);
  requireFields(`${where} call`, call, CONVOLUTION);
  requireFields(`${where} codes`, codes, CODES);
  requireFields(`${where} weights`, weights, QUANTIZED_WEIGHT);
}

/** Records how tokens, or pixels as tokens, are rounded to 8 bits. x: [B,F,S,C] or [B,F,H,W,C]. */
export function recordQuantize(record: RecordCall, x: Tensor, options: ActivationQuantization): Quantized {
  requireArgument("recordQuantize record", record, FUNCTION);
  requireTensor("recordQuantize x", x);
  requireFields("recordQuantize", options, QUANTIZATION);
  const { dtype = "f8e4m3", per = "row", scale, name } = options;
  const rows = x.dims.length === 5 ? tokens(x) : x;
  const [b, f, s, c] = rows.dims as [number, number, number, number];
  const dims = per === "tensor" ? [1, 1, 1, 1] : [b, f, s, per === "row" ? 1 : Math.ceil(c / 128)];
  const scales = scale ?? emptyTensor(dims, "f32");
  const outputs = scale ? {} : { outputs: { scales } };
  const call = { name, x: rows, scale, per, out: emptyTensor(rows.dims, dtype), ...outputs };
  return { codes: reshape(record("quantize", call as CallOptions), x.dims), scales };
}

/** True if there is an 8-bit form of a linear layer: none takes channels of two tensors. */
export function hasLinearQ8(call: LinearOptions): boolean {
  requireOptions("hasLinearQ8", call);
  return call.x2 === undefined;
}

const isGated = (act: LinearOptions["act"]) => act === "geglu" || act === "swiglu";

/** Records a linear layer in 8 bits, with the whole epilogue of `call`; the result has the type of its x. */
export function recordLinearQ8(
  record: RecordCall,
  linear: LinearOptions,
  quantized: Quantized,
  weights: QuantizedWeight,
): Tensor {
  requireProduct("recordLinearQ8", record, { call: linear, codes: quantized, weights });
  const { x2: _, x, ...call } = linear;
  const { codes, scales } = quantized;
  const numRows = call.weight.dims[0]!;
  const width = isGated(call.act) ? numRows / 2 : numRows;
  const out = call.out ?? emptyTensor([...x.dims.slice(0, -1), width], x.dtype);
  return record("linear_q8", { ...call, x: codes, xScale: scales, ...weights, out } as CallOptions);
}

/** Records the same with a result in 8 bits for the layer behind it. yScale: [1,1,1,1]; the result has the type of the codes. */
export function recordLinearQ8Codes(
  record: RecordCall,
  linear: LinearOptions,
  quantized: Quantized,
  weights: QuantizedWeight,
  yScale: Tensor,
): Quantized {
  requireProduct("recordLinearQ8Codes", record, { call: linear, codes: quantized, weights });
  requireTensor("recordLinearQ8Codes yScale", yScale);
  const { x2: _, x, out: __, ...call } = linear;
  const { codes, scales } = quantized;
  const numRows = call.weight.dims[0]!;
  const width = isGated(call.act) ? numRows / 2 : numRows;
  const out = emptyTensor([...x.dims.slice(0, -1), width], codes.dtype);
  const made = record("linear_q8_codes", { ...call, x: codes, xScale: scales, ...weights, yScale, out } as CallOptions);
  return { codes: made, scales: yScale };
}

/** True if a convolution has an 8-bit form with its own filters: none upsamples, is transposed or grouped, or sees frames from elsewhere.
 *  For those that upsample see {@link hasUpsamplingConvQ8}. */
export function hasConvQ8(call: ConvOptions): boolean {
  requireOptions("hasConvQ8", call);
  const { upsample, past, groups = 1, framePadding = "zeros", transposed } = call;
  return !upsample && !past && groups === 1 && framePadding === "zeros" && !transposed;
}

/** True if a convolution that upsamples has an 8-bit form, a transposed convolution with filters of its own
 *  ({@link QuantizedWeights.ofUpsampling}): 1x3x3 filters in steps of one with a padding of one. */
export function hasUpsamplingConvQ8(call: ConvOptions): boolean {
  requireFields("hasUpsamplingConvQ8", call, { ...CONVOLUTION, x: optional(TENSOR) });
  const { weight, upsample, stride = [1, 1, 1], padding = [0, 0, 0, 0, 0, 0] } = call;
  const isUnit = `${weight.dims.slice(2)}` === "1,3,3" && `${stride}` === "1,1,1" && `${padding}` === "0,0,1,1,1,1";
  return upsample === true && isUnit && hasConvQ8({ ...call, upsample: false });
}

/** Returns the sizes of a convolution's result that {@link hasConvQ8} or {@link hasUpsamplingConvQ8}, [B,G,P,Q,K]. */
export function convDims(call: ConvOptions): number[] {
  requireFields("convDims", call, CONVOLUTION);
  const { x, weight, upsample, stride = [1, 1, 1], padding = [0, 0, 0, 0, 0, 0] } = call;
  const size = (axis: number) => {
    const grown = x.dims[1 + axis]! * (upsample && axis > 0 ? 2 : 1);
    const padded = grown + padding[2 * axis]! + padding[2 * axis + 1]!;
    return Math.floor((padded - weight.dims[2 + axis]!) / stride[axis]!) + 1;
  };
  return [x.dims[0]!, size(0), size(1), size(2), weight.dims[0]!];
}

/** What a transposed convolution says of itself that upsamples. */
const UPSAMPLING = { transposed: true, stride: [1, 2, 2], padding: [0, 0, 1, 1, 1, 1] } as const;

/** Records a convolution that {@link hasConvQ8} or {@link hasUpsamplingConvQ8} in 8 bits, with the whole epilogue of `call`; the result has
 *  the type of its x. weights: of {@link QuantizedWeights.ofUpsampling} where it upsamples. */
export function recordConvQ8(
  record: RecordCall,
  call: ConvOptions,
  quantized: Quantized,
  weights: QuantizedWeight,
): Tensor {
  requireProduct("recordConvQ8", record, { call, codes: quantized, weights });
  const { codes, scales } = quantized;
  const { upsample, groups, framePadding, transposed, past, x, ...conv } = call;
  const out = call.out ?? emptyTensor(convDims(call), x.dtype);
  const geometry = upsample ? UPSAMPLING : {};
  return record("conv_q8", { ...conv, ...geometry, x: codes, xScale: scales, ...weights, out } as CallOptions);
}

/** Records the same with a result in 8 bits for the convolution behind it. yScale: [1,1,1,1]; the result has the type of the codes. */
export function recordConvQ8Codes(
  record: RecordCall,
  call: ConvOptions,
  quantized: Quantized,
  weights: QuantizedWeight,
  yScale: Tensor,
): Quantized {
  requireProduct("recordConvQ8Codes", record, { call, codes: quantized, weights });
  requireTensor("recordConvQ8Codes yScale", yScale);
  const { codes, scales } = quantized;
  const { upsample, groups, framePadding, transposed, past, x, out: _, ...conv } = call;
  const out = emptyTensor(convDims(call), codes.dtype);
  const geometry = upsample ? UPSAMPLING : {};
  const made = record("conv_q8_codes", {
    ...conv,
    ...geometry,
    x: codes,
    xScale: scales,
    ...weights,
    yScale,
    out,
  } as CallOptions);
  return { codes: made, scales: yScale };
}

/** True if there is an 8-bit form of an attention: over the tokens of each frame, every query sees every key. */
export function hasAttentionQ8(call: AttentionOptions): boolean {
  requireOptions("hasAttentionQ8", call);
  const { axis = "space", causal, window, mask, cuQ, normQ, normK, rotaryQ } = call;
  const isLocal = window?.some((size) => size > 0) ?? false;
  return axis === "space" && !causal && !isLocal && ![mask, cuQ, normQ, normK, rotaryQ].some((part) => part);
}

/** Records an attention that {@link hasAttentionQ8} with q and k in 8 bits of a type, and v in float8. */
export function recordAttentionQ8(record: RecordCall, call: AttentionOptions, scores: QuantizedType): Tensor {
  requireArgument("recordAttentionQ8 record", record, FUNCTION);
  requireOptions("recordAttentionQ8 call", call);
  const { name, q, k, v, heads, scale, out } = call;
  return record("attention_q8", { name, q, k, v, heads, scale, out, scores } as CallOptions);
}

/** True if there is a form of an attention that takes float8 codes of queries, keys and values: of every token or frame of a sequence with
 *  every other. */
export function hasAttentionF8(call: AttentionOptions): boolean {
  requireOptions("hasAttentionF8", call);
  return hasAttentionQ8({ ...call, axis: "space" });
}

/** Queries, keys and values as ranges of the channels of codes. */
function codedOperands(call: AttentionOptions, { codes, scales }: Quantized) {
  const part = ({ dims, dtype, byteOffset }: Tensor): Tensor => ({
    ...codes,
    dims,
    byteOffset: codes.byteOffset + byteOffset / elementBytes(dtype),
  });
  return {
    ...{ q: part(call.q), k: part(call.k), v: part(call.v) },
    ...{ qScale: scales, kScale: scales, vScale: scales },
  };
}

/** Records an attention that {@link hasAttentionF8} over codes of what its q, k and v are ranges of the channels of. projection: the
 *  codes, as {@link recordNormedLinearQ8Codes} leaves them with a scale of `projectionScale`. */
export function recordAttentionF8(record: RecordCall, call: AttentionOptions, projection: Quantized): Tensor {
  requireArgument("recordAttentionF8 record", record, FUNCTION);
  requireOptions("recordAttentionF8 call", call);
  requireFields("recordAttentionF8 projection", projection, CODES);
  const { name, axis, heads, scale } = call;
  const out = call.out ?? emptyTensor(call.q.dims, call.q.dtype);
  return record("attention_f8", { name, axis, heads, scale, ...codedOperands(call, projection), out } as CallOptions);
}

/** Records the same with a result in float8 for the linear layer behind it. yScale: [1,1,1,1], as `attentionScale` gives it. */
export function recordAttentionF8Codes(
  record: RecordCall,
  call: AttentionOptions,
  projection: Quantized,
  yScale: Tensor,
): Quantized {
  requireArgument("recordAttentionF8Codes record", record, FUNCTION);
  requireOptions("recordAttentionF8Codes call", call);
  requireFields("recordAttentionF8Codes projection", projection, CODES);
  requireTensor("recordAttentionF8Codes yScale", yScale);
  const { name, axis, heads, scale } = call;
  const out = emptyTensor(call.q.dims, "f8e4m3");
  const operands = { ...codedOperands(call, projection), yScale, out };
  return {
    codes: record("attention_f8_codes", { name, axis, heads, scale, ...operands } as CallOptions),
    scales: yScale,
  };
}
