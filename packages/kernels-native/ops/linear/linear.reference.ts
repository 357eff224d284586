import {
  beside,
  biasesAt,
  dot,
  type PlainCall,
  type PlainResults,
  plain,
  withGatedEpilogue,
} from "../../contract/reference";

/** linear by the definition of a matrix product. */
export default function linear(call: PlainCall): PlainResults {
  const x = beside(call.operand("x"), call.optional("x2"));
  const weight = call.operand("weight");
  const [b, f, s, c] = x.dims as [number, number, number, number];
  const rows = weight.dims[0]!;
  const product = plain([b, f, s, rows], (i, j, t, row) => {
    const token = ((i * f + j) * s + t) * c;
    return biasesAt(call, i, j, row) + dot(x.data, token, weight.data, row * c, c);
  });
  return { y: withGatedEpilogue(call, product) };
}
