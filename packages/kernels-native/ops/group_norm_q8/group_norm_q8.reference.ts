import { groupNormed, type PlainCall, type PlainResults, roundToCode } from "../../contract/reference";

/** group_norm_q8: group_norm, then a code for each number. */
export default function groupNormQ8(call: PlainCall): PlainResults {
  const normed = groupNormed(call);
  const scale = call.operand("yScale").data[0]!;
  const isInt8 = call.resultType === "i8";
  return { y: { dims: normed.dims, data: normed.data.map((v) => roundToCode(Math.fround(v), scale, isInt8)) } };
}
