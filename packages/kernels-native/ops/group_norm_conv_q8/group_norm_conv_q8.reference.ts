import { channelMoments, normedConvInCodes, type PlainCall, type PlainResults } from "../../contract/reference";

/** group_norm_conv_q8; moments are those of the whole result. */
export default function groupNormConvQ8(call: PlainCall): PlainResults {
  const y = normedConvInCodes(call, call.operand("x"));
  return { y, moments: channelMoments(y) };
}
