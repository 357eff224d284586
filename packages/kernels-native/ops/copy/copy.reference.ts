import type { PlainCall, PlainResults } from "../../contract/reference";

/** copy: the operand itself. */
export default function copy(call: PlainCall): PlainResults {
  return { y: call.operand("x") };
}
