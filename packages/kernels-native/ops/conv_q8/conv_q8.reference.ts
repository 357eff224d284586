import { channelMoments, convInCodes, type PlainCall, type PlainResults } from "../../contract/reference";

/** conv_q8: a convolution of codes, times the scales; moments are those of the whole result. */
export default function convQ8(call: PlainCall): PlainResults {
  const y = convInCodes(call);
  return { y, moments: channelMoments(y) };
}
