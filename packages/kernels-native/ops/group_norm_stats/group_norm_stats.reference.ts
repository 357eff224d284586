import { beside, besideMoments, groupStatistics, type PlainCall, type PlainResults, statisticsOfMoments } from "../../contract/reference";

/** group_norm_stats by the definitions of mean and variance, of all values or of the channels' moments. */
export default function groupNormStats(call: PlainCall): PlainResults {
  const [groups, eps, joined] = [call.number("groups"), call.number("eps"), call.flag("joinFrames")];
  const given = call.optional("moments");
  if (given) {
    const further = call.optional("moments2");
    return { stats: statisticsOfMoments(further ? besideMoments(given, further) : given, groups, eps, joined) };
  }
  return { stats: groupStatistics(beside(call.operand("x"), call.optional("x2")), groups, eps, joined) };
}
