import { convInCodes, type PlainCall, type PlainResults, roundToCode } from "../../contract/reference";

/** conv_q8_codes: conv_q8, then a code for each number. */
export default function convQ8Codes(call: PlainCall): PlainResults {
  const { dims, data } = convInCodes(call);
  const scale = call.operand("yScale").data[0]!;
  const isInt8 = call.resultType === "i8";
  return { y: { dims, data: data.map((v) => roundToCode(Math.fround(v), scale, isInt8)) } };
}
