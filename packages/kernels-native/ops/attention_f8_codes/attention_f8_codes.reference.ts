import { attentionOfCodes, type PlainCall, type PlainResults, roundToCode } from "../../contract/reference";

/** attention_f8_codes: attention of what the codes stand for, then a code for each number. */
export default function attentionF8Codes(call: PlainCall): PlainResults {
  const { dims, data } = attentionOfCodes(call);
  const scale = call.operand("yScale").data[0]!;
  return { y: { dims, data: data.map((v) => roundToCode(Math.fround(v), scale, false)) } };
}
