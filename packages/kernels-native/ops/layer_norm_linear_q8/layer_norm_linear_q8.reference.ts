import { normedLinearInCodes, type PlainCall, type PlainResults } from "../../contract/reference";

/** layer_norm_linear_q8: layer_norm_q8 with a known scale, then linear_q8. */
export default function layerNormLinearQ8(call: PlainCall): PlainResults {
  return { y: normedLinearInCodes(call) };
}
