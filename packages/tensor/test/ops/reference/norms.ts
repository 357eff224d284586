import { at, beside, type Plain, type PlainCall, type PlainResults, plain } from "../plain";
import { ACTIVATE } from "./scalar";

/** Mean and 1/sqrt(variance + eps) of some numbers. */
function moments(values: readonly number[], eps: number): [number, number] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return [mean, 1 / Math.sqrt(variance + eps)];
}

/** Statistics [B,1|F,groups,2] of x: [B,F,H,W,C]. */
function statistics(x: Plain, groups: number, eps: number, joined: boolean): Plain {
  const [B, F, H, W, C] = x.dims as [number, number, number, number, number];
  const frames = joined ? 1 : F;
  const width = C / groups;
  const sets = Array.from({ length: B * frames * groups }, () => [] as number[]);
  x.data.forEach((value, i) => {
    const [channel, frame] = [i % C, Math.floor(i / (C * W * H))];
    const set = joined ? Math.floor(frame / F) : frame;
    sets[set * groups + Math.floor(channel / width)]!.push(value);
  });
  return { dims: [B, frames, groups, 2], data: Float64Array.from(sets.flatMap((set) => moments(set, eps))) };
}

/** group_norm_stats by the definitions of mean and variance. */
export function groupNormStats(call: PlainCall): PlainResults {
  const x = beside(call.operand("x"), call.optional("x2"));
  return { stats: statistics(x, call.number("groups"), call.number("eps"), call.flag("joinFrames")) };
}

/** group_norm by the definitions of mean and variance, or with given ones. */
export function groupNorm(call: PlainCall): PlainResults {
  const x = beside(call.operand("x"), call.optional("x2"));
  const groups = call.number("groups");
  const stats = call.optional("stats") ?? statistics(x, groups, call.number("eps"), call.flag("joinFrames"));
  const [weight, bias] = [call.operand("weight").data, call.operand("bias").data];
  const act = ACTIVATE[call.word("act")]!;
  const width = x.dims[4]! / groups;
  const y = plain(x.dims, (b, f, h, w, c) => {
    const group = Math.floor(c / width);
    const set = (b * stats.dims[1]! + (stats.dims[1] === 1 ? 0 : f)) * groups + group;
    return act((at(x, b, f, h, w, c) - stats.data[2 * set]!) * stats.data[2 * set + 1]! * weight[c]! + bias[c]!);
  });
  return { y };
}

/** layer_norm by the definitions of mean and variance. */
export function layerNorm(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const channels = x.dims[3]!;
  const [weight, bias] = [call.operand("weight").data, call.operand("bias").data];
  const data = new Float64Array(x.data.length);
  for (let token = 0; token < data.length; token += channels) {
    const [mean, scale] = moments([...x.data.subarray(token, token + channels)], call.number("eps"));
    for (let c = 0; c < channels; c++) data[token + c] = (x.data[token + c]! - mean) * scale * weight[c]! + bias[c]!;
  }
  return { y: { dims: x.dims, data } };
}
