import { beside, normedConv, type PlainCall, type PlainResults } from "../../contract/reference";

/** conv_winograd: of x, or of x and x2 side by side. */
export default function convWinograd(call: PlainCall): PlainResults {
  return { y: normedConv(call, beside(call.operand("x"), call.optional("x2"))) };
}
