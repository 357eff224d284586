import { type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** token_embed: the token before the others, positions added. */
export default function tokenEmbed(call: PlainCall): PlainResults {
  const [x, token, position] = [call.operand("x"), call.operand("token").data, call.operand("position")];
  const [B, F, S, C] = x.dims as [number, number, number, number];
  const y = plain([B, F, S + 1, C], (b, f, s, c) => {
    const value = s === 0 ? token[c]! : x.data[((b * F + f) * S + s - 1) * C + c]!;
    return value + position.data[s * C + c]!;
  });
  return { y };
}
