import { at, halfToEven, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** The level of a number; 0 for NaN. */
function levelOf(value: number): number {
  return Number.isNaN(value) ? 0 : halfToEven(255 * Math.min(Math.max((1 + value) / 2, 0), 1));
}

/** frames_out with rounding half to even written out. */
export default function framesOut(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const y = plain(x.dims, (...index) => levelOf(at(x, ...index)));
  return { y };
}
