import {
  at,
  biasesAt,
  convolution,
  type PlainCall,
  type PlainResults,
  plain,
  withEpilogue,
} from "../../contract/reference";

/** conv_q8: a convolution of codes, times the scales. */
export default function convQ8(call: PlainCall): PlainResults {
  const sums = convolution(call);
  const [xScale, weightScale] = [call.operand("xScale"), call.operand("weightScale")];
  const product = plain(sums.dims, (i, g, p, q, k) => {
    const scale = at(xScale, i, 0, 0, 0) * at(weightScale, k, 0);
    return at(sums, i, g, p, q, k) * scale + biasesAt(call, i, g, k);
  });
  return { y: withEpilogue(call, product) };
}
