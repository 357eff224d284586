import { float8Codes, normedLinearInCodes, type PlainCall, type PlainResults } from "../../contract/reference";

/** layer_norm_linear_q8_codes: layer_norm_linear_q8, then a code for each number. */
export default function layerNormLinearQ8Codes(call: PlainCall): PlainResults {
  return { y: float8Codes(normedLinearInCodes(call), call.operand("yScale")) };
}
