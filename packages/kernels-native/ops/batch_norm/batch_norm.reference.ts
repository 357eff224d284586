import { ACTIVATE, at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** batch_norm in evaluation, term by term. */
export default function batchNorm(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [mean, variance] = [call.operand("mean").data, call.operand("variance").data];
  const [weight, bias] = [call.optional("weight")?.data, call.optional("bias")?.data];
  const act = ACTIVATE[call.word("act")]!;
  const y = plain(x.dims, (b, f, h, w, c) => {
    const normed = (at(x, b!, f!, h!, w!, c!) - mean[c!]!) / Math.sqrt(variance[c!]! + call.number("eps"));
    return act(normed * (weight?.[c!] ?? 1) + (bias?.[c!] ?? 0));
  });
  return { y };
}
