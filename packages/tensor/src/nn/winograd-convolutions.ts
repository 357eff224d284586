import type { RecordCall, RewriteCall } from "../graph";
import type { ConvOptions, GroupNormOptions } from "../graph-ops.generated";
import type { CallOptions, Tensor } from "../tensor";
import { type WaitingNorms, withWaitingGroupNorms } from "./waiting-norms";

/** Fewer pixels in all frames do not repay filters that take four times the memory. */
const LEAST_PIXELS = 16384;

/** Half of the harmonic mean of both channel counts from which the products that are saved outweigh the tiles that are written and
 *  read, measured on an H200. */
const LEAST_CHANNELS = 200;

const isAll = (values: readonly number[] | undefined, expected: readonly number[]) =>
  values?.every((value, i) => value === expected[i]) ?? false;

/** True for 3x3 filters inside a frame, with a step of one and a border of zeros. */
function is3x3({ weight, stride = [1, 1, 1], padding, upsample, past, groups = 1, transposed }: ConvOptions): boolean {
  if (upsample || past || transposed || groups !== 1) return false;
  return isAll(weight.dims.slice(2), [1, 3, 3]) && isAll(stride, [1, 1, 1]) && isAll(padding, [0, 0, 1, 1, 1, 1]);
}

/** Which convolutions are computed by transforms. */
export interface WinogradOptions {
  /** Most filters, input times output channels, of a convolution: transformed ones take four times the memory. Default: any number. */
  mostFilters?: number | undefined;
}

/** True where a GPU gains by transforms: float16, many channels, many pixels. */
function gains({ x, weight }: ConvOptions, { mostFilters = Number.POSITIVE_INFINITY }: WinogradOptions): boolean {
  const [columns, channels] = weight.dims as [number, number];
  const pixels = x.dims.slice(0, 4).reduce((product, size) => product * size, 1);
  const isWide = channels * columns >= LEAST_CHANNELS * (channels + columns) && columns % 64 === 0;
  return x.dtype === "f16" && isWide && pixels >= LEAST_PIXELS && channels * columns <= mostFilters;
}

/** The operands of a convolution that normalises `norm.x` by itself. */
function normedSource({ x, x2, weight, bias, act, stats, ...norm }: GroupNormOptions, record: RecordCall) {
  const { groups, eps, joinFrames, name } = norm;
  const found = { name: name && `${name}.stats`, x, x2, groups, eps, joinFrames };
  const given = stats ?? record("group_norm_stats", found as CallOptions);
  return { x, x2, stats: given, normWeight: weight, normBias: bias, normAct: act };
}

/** Records a convolution as conv_winograd, with the norm before it if there is one. */
function recordConvWinograd(call: ConvOptions, norms: WaitingNorms, record: RecordCall): Tensor {
  const { x, stride, padding, upsample, past, groups, framePadding, transposed, ...conv } = call;
  const norm = norms.take(x);
  norms.recordBefore((norm ? conv : call) as CallOptions);
  const source = norm ? normedSource(norm.call as GroupNormOptions, norm.record) : { x };
  return record("conv_winograd", { ...conv, ...source } as CallOptions);
}

/**
 * Returns how a model's calls are recorded with Winograd's transforms for 3x3 convolutions, where a GPU gains by them: in float16, with
 * many channels and pixels. A norm of channel groups whose result one of them reads becomes part of it. All other calls are recorded as
 * they come. Results differ by about five roundings of each convolution's result; filters take four times the memory.
 *
 * @example
 * ```ts
 * import { Graph, winogradConvolutions } from "@vd/tensor";
 *
 * const g = new Graph({ dtype: "f16" });
 * g.rewriteCalls(winogradConvolutions());
 * ```
 */
export function winogradConvolutions(options: WinogradOptions = {}): RewriteCall {
  return withWaitingGroupNorms((call, norms, record) =>
    is3x3(call) && gains(call, options) ? recordConvWinograd(call, norms, record) : undefined,
  );
}
