import {
  at,
  biasesAt,
  convolution,
  type PlainCall,
  type PlainResults,
  plain,
  withEpilogue,
} from "../../contract/reference";

/** conv by the definition of a convolution. */
export default function conv(call: PlainCall): PlainResults {
  const sums = convolution(call);
  const product = plain(sums.dims, (i, g, p, q, k) => at(sums, i, g, p, q, k) + biasesAt(call, i, g, k));
  return { y: withEpilogue(call, product) };
}
