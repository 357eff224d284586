import { convInCodes, type PlainCall, type PlainResults } from "../../contract/reference";

/** conv_q8: a convolution of codes, times the scales. */
export default function convQ8(call: PlainCall): PlainResults {
  return { y: convInCodes(call) };
}
