import { FUNCTION, having, optional, requireArgument, requireFields } from "@vd/kernels-native";
import type { RecordCall } from "../graph";
import type { ConvOptions, GroupNormOptions } from "../graph-ops.generated";
import { type CallOptions, TENSOR } from "../tensor";
import { BORDER, EXTENT } from "./layer";

/** A convolution's call that is looked at before it is recorded. */
export const CONVOLUTION = { x: TENSOR, weight: TENSOR, stride: optional(EXTENT), padding: optional(BORDER) };

/** Refuses what no convolution can be taken over of. @throws VdError `attr` */
export function requireTaking(where: string, call: unknown, norms: unknown, record: unknown): void {
  requireFields(`${where} call`, call, CONVOLUTION);
  requireArgument(`${where} norms`, norms, having("norms that wait", ["find", "take", "recordBefore"]));
  requireArgument(`${where} record`, record, FUNCTION);
}

const isAll = (values: readonly number[] | undefined, expected: readonly number[]) =>
  values?.every((value, i) => value === expected[i]) ?? false;

/** True for a step of one, one group of channels, and frames that do not come from elsewhere or repeat. */
function isPlain({ stride = [1, 1, 1], upsample, past, groups = 1, transposed, framePadding }: ConvOptions): boolean {
  if (upsample || past || transposed || groups !== 1 || framePadding === "replicate") return false;
  return isAll(stride, [1, 1, 1]);
}

/** True for 3x3 filters inside a frame, with a step of one and a border of zeros. */
export const is3x3 = (call: ConvOptions): boolean =>
  isPlain(call) && isAll(call.weight.dims.slice(2), [1, 3, 3]) && isAll(call.padding, [0, 0, 1, 1, 1, 1]);

/** True for 3x1x1 filters over frames, with a step of one and a frame of zeros, or none, in front of the first frame and behind the last. */
export function is3x1x1(call: ConvOptions): boolean {
  const { weight, padding = [0, 0, 0, 0, 0, 0] } = call;
  const isOverFrames = isAll(weight.dims.slice(2), [3, 1, 1]) && isAll(padding.slice(2), [0, 0, 0, 0]);
  return isPlain(call) && isOverFrames && padding.slice(0, 2).every((size) => size <= 1);
}

/** The operands of a convolution that normalises `norm.x` by itself; records its statistics where they are not given. */
export function normedSource({ x, x2, weight, bias, act, stats, ...norm }: GroupNormOptions, record: RecordCall) {
  const { groups, eps, joinFrames, name } = norm;
  const found = { name: name && `${name}.stats`, x, x2, groups, eps, joinFrames };
  const given = stats ?? record("group_norm_stats", found as CallOptions);
  return { x, x2, stats: given, normWeight: weight, normBias: bias, normAct: act };
}
