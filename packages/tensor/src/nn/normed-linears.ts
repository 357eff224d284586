import { FUNCTION, OBJECT, requireArgument, requireFields } from "@vd/kernels-native";
import type { RecordCall, RewriteCall } from "../graph";
import type { LayerNormOptions, LinearOptions } from "../graph-ops.generated";
import { type CallOptions, requireTensor, TENSOR, type Tensor } from "../tensor";
import { layerNormScale } from "../weights/norm-scale";
import type { QuantizedWeight } from "../weights/quantized-weight";
import { QUANTIZED_WEIGHT } from "./layer";
import type { Quantized } from "./quantized";
import { type TakeProduct, withWaitingNorms } from "./waiting-norms";

/** Channels of tokens that a GPU's kernel normalises on the way: as many as stay in a tile's registers while all columns of the weight go
 *  by, so that a token is read and normalised once. More do not stay there, and of fewer channels the norm alone takes little time. */
const TILE_CHANNELS = 320;

/** Fewer tokens of a clip come from a GPU's cache again, and leave multiprocessors without a tile. Decided by one clip, so that rows of
 *  guidance have the same bits together and one after the other. */
const LEAST_TOKENS = 4096;

/** A linear layer and the norm whose result it reads. */
export interface NormAndLinear {
  norm: Pick<LayerNormOptions, "x" | "scale" | "shift">;
  linear: Pick<LinearOptions, "x2">;
}

/**
 * Returns whether {@link normedLinears} records a norm of tokens and the linear layer that reads it as one op: in 16 bits, of many tokens,
 * of as many channels as a kernel's tile holds, without modulation and further channels.
 */
export function isNormedLinear(pair: NormAndLinear): boolean {
  requireFields("isNormedLinear", pair, { norm: OBJECT, linear: OBJECT });
  requireTensor("isNormedLinear] [norm x", pair.norm.x);
  const { x, scale, shift } = pair.norm;
  const { x2 } = pair.linear;
  const [, frames, tokens, channels] = x.dims as [number, number, number, number];
  return x.dtype !== "f32" && !scale && !shift && !x2 && channels === TILE_CHANNELS && frames * tokens >= LEAST_TOKENS;
}

/** A norm with weight and bias, from which the scale of its codes follows. */
export type ScaledLayerNorm = LayerNormOptions & { weight: Tensor; bias: Tensor };

const SCALED_NORM = { x: TENSOR, weight: TENSOR, bias: TENSOR };

/** The operands of a linear layer in float8 that normalises its tokens by itself. */
function operandsInQ8({ x: _, x2: __, ...linear }: LinearOptions, norm: ScaledLayerNorm, weights: QuantizedWeight) {
  const { x, weight: normWeight, bias: normBias, eps } = norm;
  return { ...linear, x, normWeight, normBias, eps, normScale: layerNormScale(normWeight, normBias), ...weights };
}

function requireNormed(where: string, record: unknown, norm: unknown, weights: unknown): void {
  requireArgument(`${where} record`, record, FUNCTION);
  requireFields(`${where} norm`, norm, SCALED_NORM);
  requireFields(`${where} weights`, weights, QUANTIZED_WEIGHT);
}

/** Records a linear layer in float8 with the norm whose result it reads inside, where {@link isNormedLinear}: codes of tokens have the scale that
 *  follows from the norm's weights. weights: of that type. */
export function recordNormedLinearQ8(
  record: RecordCall,
  linear: LinearOptions,
  norm: ScaledLayerNorm,
  weights: QuantizedWeight,
): Tensor {
  requireNormed("recordNormedLinearQ8", record, norm, weights);
  return record("layer_norm_linear_q8", operandsInQ8(linear, norm, weights) as CallOptions);
}

/** Records the same with a result in float8 for the layer behind it. yScale: [1,1,1,1]. */
export function recordNormedLinearQ8Codes(
  record: RecordCall,
  linear: LinearOptions,
  norm: ScaledLayerNorm,
  weights: QuantizedWeight,
  yScale: Tensor,
): Quantized {
  requireNormed("recordNormedLinearQ8Codes", record, norm, weights);
  requireTensor("recordNormedLinearQ8Codes yScale", yScale);
  const { out: _, ...operands } = operandsInQ8(linear, norm, weights);
  return { codes: record("layer_norm_linear_q8_codes", { ...operands, yScale } as CallOptions), scales: yScale };
}

const takeLinear: TakeProduct = (op, options, norms, record) => {
  if (op !== "linear") return undefined;
  const { x, x2, ...linear } = options as LinearOptions;
  const norm = norms.find(x)?.call as LayerNormOptions | undefined;
  if (!norm || !isNormedLinear({ norm, linear: { x2 } })) return undefined;
  norms.take(x);
  norms.recordBefore(linear as CallOptions);
  const source = { x: norm.x, normWeight: norm.weight, normBias: norm.bias, eps: norm.eps };
  return record("layer_norm_linear", { ...linear, ...source } as CallOptions);
};

/**
 * Returns how a model's calls are recorded with norms of tokens inside the linear layers behind them, so that what is normalised never lies
 * in memory, where {@link isNormedLinear}. All other calls are recorded as they come. The model calls the norm anew for every layer that
 * reads it: a norm that a layer took has no result for another. A Hopper GPU has kernels for it; others normalise into their working memory
 * first.
 *
 * @example
 * ```ts
 * import { Graph, normedLinears } from "@vd/tensor";
 *
 * const g = new Graph({ dtype: "f16" });
 * g.rewriteCalls(normedLinears());
 * ```
 */
export const normedLinears = (): RewriteCall => withWaitingNorms("layer_norm", takeLinear);
