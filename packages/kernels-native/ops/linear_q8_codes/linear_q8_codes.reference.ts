import { linearInCodes, type PlainCall, type PlainResults, roundToCode } from "../../contract/reference";

/** linear_q8_codes: linear_q8, then a code for each number. */
export default function linearQ8Codes(call: PlainCall): PlainResults {
  const { dims, data } = linearInCodes(call);
  const scale = call.operand("yScale").data[0]!;
  const isInt8 = call.resultType === "i8";
  return { y: { dims, data: data.map((v) => roundToCode(Math.fround(v), scale, isInt8)) } };
}
