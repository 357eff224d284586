import { attentionOfCodes, type PlainCall, type PlainResults } from "../../contract/reference";

/** attention_f8: attention of what the codes stand for. */
export default function attentionF8(call: PlainCall): PlainResults {
  return { y: attentionOfCodes(call) };
}
