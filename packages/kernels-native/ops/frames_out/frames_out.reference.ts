import { at, halfToEven, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** frames_out with rounding half to even written out. */
export default function framesOut(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const y = plain(x.dims, (...index) => halfToEven(255 * Math.min(Math.max((1 + at(x, ...index)) / 2, 0), 1)));
  return { y };
}
