import {
  ACTIVATE,
  at,
  beside,
  groupStatistics,
  type PlainCall,
  type PlainResults,
  plain,
} from "../../contract/reference";

/** group_norm by the definitions of mean and variance, or with given ones. */
export default function groupNorm(call: PlainCall): PlainResults {
  const x = beside(call.operand("x"), call.optional("x2"));
  const groups = call.number("groups");
  const stats = call.optional("stats") ?? groupStatistics(x, groups, call.number("eps"), call.flag("joinFrames"));
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
