import { ACTIVATE } from "./activations";
import { affineAndModulated } from "./modulation";
import { groupStatistics, moments } from "./moments";
import { at, beside, type Plain, type PlainCall, plain } from "./plain";

/** What group_norm makes of a call, [B,F,H,W,C+C2], by the definitions of mean and variance, or with given ones. */
export function groupNormed(call: PlainCall): Plain {
  const x = beside(call.operand("x"), call.optional("x2"));
  const groups = call.number("groups");
  const stats = call.optional("stats") ?? groupStatistics(x, groups, call.number("eps"), call.flag("joinFrames"));
  const [weight, bias] = [call.operand("weight").data, call.operand("bias").data];
  const act = ACTIVATE[call.word("act")]!;
  const width = x.dims[4]! / groups;
  return plain(x.dims, (b, f, h, w, c) => {
    const group = Math.floor(c! / width);
    const set = (b! * stats.dims[1]! + (stats.dims[1] === 1 ? 0 : f!)) * groups + group;
    return act((at(x, b!, f!, h!, w!, c!) - stats.data[2 * set]!) * stats.data[2 * set + 1]! * weight[c!]! + bias[c!]!);
  });
}

/** What layer_norm makes of a call, [B,F,S,C], by the definitions of mean and variance. */
export function layerNormed(call: PlainCall): Plain {
  const x = call.operand("x");
  const channels = x.dims[3]!;
  const data = new Float64Array(x.data.length);
  for (let token = 0; token < data.length; token += channels) {
    const [mean, scale] = moments([...x.data.subarray(token, token + channels)], call.number("eps"));
    for (let c = 0; c < channels; c++) data[token + c] = (x.data[token + c]! - mean) * scale;
  }
  return affineAndModulated(call, { dims: x.dims, data });
}
