import { channelMoments, normedConv, type PlainCall, type PlainResults } from "../../contract/reference";

/** group_norm_conv; moments are those of the whole result. */
export default function groupNormConv(call: PlainCall): PlainResults {
  const y = normedConv(call, call.operand("x"));
  return { y, moments: channelMoments(y) };
}
