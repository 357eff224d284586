import { ACTIVATE, at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** pointwise, term by term. */
export default function pointwise(call: PlainCall): PlainResults {
  const [a, b, c, frameBias] = [call.operand("a"), ...["b", "c", "frameBias"].map((name) => call.optional(name))];
  const act = ACTIVATE[call.word("act")]!;
  const y = plain(a!.dims, (i, f, s, k) => {
    const product = b ? call.number("bScale") * at(b, i, f, s, k) * (c ? at(c, i, f, s, k) : 1) : 0;
    return act(call.number("aScale") * at(a!, i, f, s, k) + product + (frameBias ? at(frameBias, i, f, k) : 0));
  });
  return { y };
}
