import { beside, groupStatistics, type PlainCall, type PlainResults } from "../../contract/reference";

/** group_norm_stats by the definitions of mean and variance. */
export default function groupNormStats(call: PlainCall): PlainResults {
  const x = beside(call.operand("x"), call.optional("x2"));
  return { stats: groupStatistics(x, call.number("groups"), call.number("eps"), call.flag("joinFrames")) };
}
