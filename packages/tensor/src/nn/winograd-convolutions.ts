import { FLAG, numberFrom, optional, requireFields } from "@vd/kernels-native";
import type { RecordCall, RewriteCall } from "../graph";
import type { ConvOptions, GroupNormOptions } from "../graph-ops.generated";
import type { CallOptions, Tensor } from "../tensor";
import { CONVOLUTION, is3x3, normedSource } from "./convolution-calls";
import { type TakeConvolution, type WaitingNorms, withWaitingGroupNorms } from "./waiting-norms";

/** Fewer pixels do not repay filters that take four times the memory: 14 frames of 18x32 do. */
const LEAST_PIXELS = 8000;

/** Half of the harmonic mean of both channel counts from which the products that are saved outweigh the tiles that are written and
 *  read, measured on an H200. */
const LEAST_CHANNELS = 200;

/** Which convolutions are computed by transforms. */
export interface WinogradOptions {
  /** Most filters, input times output channels, of a convolution: transformed ones take four times the memory. Default: any number. */
  mostFilters?: number | undefined;
  /** Whether the pixels of one frame alone decide, so that a clip is computed alike in pieces of any number of frames. Default: those of all
   *  frames do. */
  eachFrame?: boolean | undefined;
}

const WINOGRAD = { mostFilters: optional(numberFrom(0, Number.POSITIVE_INFINITY)), eachFrame: optional(FLAG) };

/** True where a GPU gains by transforms: float16, many channels, many pixels. */
function gains({ x, weight }: ConvOptions, options: WinogradOptions): boolean {
  const { mostFilters = Number.POSITIVE_INFINITY, eachFrame = false } = options;
  const [columns, channels] = weight.dims as [number, number];
  const pixels = x.dims.slice(eachFrame ? 2 : 0, 4).reduce((product, size) => product * size, 1);
  const isWide = channels * columns >= LEAST_CHANNELS * (channels + columns) && columns % 64 === 0;
  return x.dtype === "f16" && isWide && pixels >= LEAST_PIXELS && channels * columns <= mostFilters;
}

/** Returns whether a convolution is one that {@link winogradConvolutions} are for: whether a GPU gains by transforms of it. */
export function gainsByWinograd(call: ConvOptions, options: WinogradOptions = {}): boolean {
  requireFields("gainsByWinograd call", call, CONVOLUTION);
  requireFields("gainsByWinograd", options, WINOGRAD);
  return is3x3(call) && gains(call, options);
}

/** Records a convolution as conv_winograd, with the norm before it if there is one. */
function recordConvWinograd(call: ConvOptions, norms: WaitingNorms, record: RecordCall): Tensor {
  const { x, stride, padding, upsample, past, groups, framePadding, transposed, ...conv } = call;
  const norm = norms.take(x);
  norms.recordBefore((norm ? conv : call) as CallOptions);
  const source = norm ? normedSource(norm.call as GroupNormOptions, norm.record) : { x };
  return record("conv_winograd", { ...conv, ...source } as CallOptions);
}

/** Returns how convolutions that {@link winogradConvolutions} are for are recorded; others are left. */
export function takeWinograd(options: WinogradOptions = {}): TakeConvolution {
  requireFields("takeWinograd", options, WINOGRAD);
  return (call, norms, record) =>
    gainsByWinograd(call, options) ? recordConvWinograd(call, norms, record) : undefined;
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
export const winogradConvolutions = (options: WinogradOptions = {}): RewriteCall =>
  withWaitingGroupNorms(takeWinograd(options));
