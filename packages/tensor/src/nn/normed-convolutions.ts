import { FUNCTION, requireArgument, requireFields } from "@vd/kernels-native";
import type { RecordCall, RewriteCall } from "../graph";
import type { ConvOptions, GroupNormOptions } from "../graph-ops.generated";
import { type CallOptions, packedBytes, requireTensor, TENSOR, type Tensor } from "../tensor";
import { normScale } from "../weights/norm-scale";
import type { QuantizedWeight } from "../weights/quantized-weight";
import { CONVOLUTION, is3x1x1, is3x3, normedSource, requireTaking } from "./convolution-calls";
import { QUANTIZED_WEIGHT } from "./layer";
import { type TakeConvolution, type WaitingNorm, withWaitingGroupNorms } from "./waiting-norms";

/** Frames of fewer bytes come from a GPU's cache again, and are normalised there in little time. Decided by the frame alone, so that a clip
 *  has the same bits in any chunks. */
const LEAST_FRAME_BYTES = 4 << 20;

/** Columns and rows of a kernel's tile: more rows where fewer filters share them. */
const TILE_COLUMNS = 8;
const tileRows = (numFilters: number): number => (numFilters % 256 === 0 ? 16 : 32);

/** Channels and filters of kernels that keep filters over frames beside the frames that they see, and pixels of a tile. */
const WALK = { channels: 128, pixels: 128 };

/** Most filters, and multiples of channels, of kernels that multiply a pixel with the filters of all taps at once. */
const FEW = { filters: 4, channels: 32 };

/** Height, width and channels of a frame. */
type FrameSize = readonly [number, number, number];

/** True where kernels that walk along frames have so many filters. */
const isWalked = (numFilters: number, [height, width, channels]: FrameSize): boolean =>
  channels === WALK.channels && numFilters === WALK.channels && (height * width) % WALK.pixels === 0;

/** True where whole tiles of kernels cover the frames and the filters, or filters are few. */
function isCovered(call: ConvOptions, frame: FrameSize): boolean {
  const [height, width, channels] = frame;
  const numFilters = call.weight.dims[0]!;
  if (is3x3(call) && numFilters <= FEW.filters) return channels % FEW.channels === 0;
  if (is3x1x1(call)) return isWalked(numFilters, frame);
  const isWhole = height % tileRows(numFilters) === 0 && width % TILE_COLUMNS === 0;
  return is3x3(call) && isWhole && channels % 64 === 0 && numFilters % 128 === 0;
}

const frameOf = (x: Tensor): FrameSize => x.dims.slice(2) as [number, number, number];

const isLarge = (x: Tensor): boolean => x.dtype !== "f32" && packedBytes(frameOf(x), x.dtype) >= LEAST_FRAME_BYTES;

/** True where a GPU's kernels normalise tiles on the way: 16 bits, large frames which whole tiles cover, filters for whole tiles. */
function gains(call: ConvOptions, { x, x2 }: Pick<GroupNormOptions, "x" | "x2">): boolean {
  return !x2 && isLarge(x) && isCovered(call, frameOf(x));
}

/** Returns whether {@link normedConvolutions} records convolutions over frames with their norms inside, with as many filters as x has channels.
 *  x: [B,F,H,W,C]. @throws VdError `attr` for what is no tensor */
export function normsOverFramesInside(x: Tensor): boolean {
  requireTensor("normsOverFramesInside x", x);
  return isLarge(x) && isWalked(x.dims[4]!, frameOf(x));
}

/** What a call that normalises its source by itself has besides that: the convolution's own operands, and its frames of zeros. */
function convOperands(call: ConvOptions) {
  const { x, stride, padding, upsample, past, groups, framePadding, transposed, ...conv } = call;
  return { ...conv, temporalPadding: is3x1x1(call) && padding ? padding.slice(0, 2) : [0, 0] };
}

/** Returns whether {@link normedConvolutions} records a convolution over frames with its norm inside, which {@link recordNormedConvQ8} does in 8 bits. */
export function isNormedOverFrames(call: ConvOptions, norm: Pick<GroupNormOptions, "x" | "x2">): boolean {
  requireFields("isNormedOverFrames call", call, CONVOLUTION);
  requireFields("isNormedOverFrames norm", norm, { x: TENSOR });
  return is3x1x1(call) && gains(call, norm);
}

/** Records a convolution that {@link isNormedOverFrames} in 8-bit floats, its norm inside: codes with the scale that follows from the norm's weights.
 *  weights: filters of that type. */
export function recordNormedConvQ8(
  record: RecordCall,
  call: ConvOptions,
  norm: WaitingNorm,
  weights: QuantizedWeight,
): Tensor {
  requireArgument("recordNormedConvQ8 record", record, FUNCTION);
  requireFields("recordNormedConvQ8 call", call, CONVOLUTION);
  requireFields("recordNormedConvQ8 norm", norm, { record: FUNCTION });
  requireFields("recordNormedConvQ8 norm's call", norm.call, { x: TENSOR, weight: TENSOR, bias: TENSOR });
  requireFields("recordNormedConvQ8 weights", weights, QUANTIZED_WEIGHT);
  const { x2, ...source } = normedSource(norm.call as GroupNormOptions, norm.record);
  const scale = normScale(norm.call.weight, norm.call.bias);
  return record("group_norm_conv_q8", {
    ...convOperands(call),
    ...source,
    ...weights,
    normScale: scale,
  } as CallOptions);
}

/** Records a convolution that {@link normedConvolutions} are for with its norm inside. */
export const takeNormed: TakeConvolution = (call, norms, record) => {
  requireTaking("takeNormed", call, norms, record);
  const waiting = is3x3(call) || is3x1x1(call) ? norms.find(call.x) : undefined;
  if (!waiting || !gains(call, waiting.call as GroupNormOptions)) return undefined;
  const norm = norms.take(call.x)!;
  const conv = convOperands(call);
  norms.recordBefore(conv as CallOptions);
  const { x2, ...source } = normedSource(norm.call as GroupNormOptions, norm.record);
  return record("group_norm_conv", { ...conv, ...source } as CallOptions);
};

/**
 * Returns how a model's calls are recorded with norms of channel groups inside the convolutions behind them, 3x3 or over three frames, so
 * that what is normalised never lies in memory: in 16 bits, for frames that no cache holds. All other calls are recorded as they come. A Hopper GPU has
 * kernels for it; others normalise into their working memory first. Sums are added up in another order than by the convolution alone.
 *
 * @example
 * ```ts
 * import { Graph, normedConvolutions } from "@vd/tensor";
 *
 * const g = new Graph({ dtype: "f16" });
 * g.rewriteCalls(normedConvolutions());
 * ```
 */
export const normedConvolutions = (): RewriteCall => withWaitingGroupNorms(takeNormed);
