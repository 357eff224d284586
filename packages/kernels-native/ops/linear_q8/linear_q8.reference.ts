import { linearInCodes, type PlainCall, type PlainResults } from "../../contract/reference";

/** linear_q8: a matrix product of the numbers that codes and scales stand for. */
export default function linearQ8(call: PlainCall): PlainResults {
  return { y: linearInCodes(call) };
}
