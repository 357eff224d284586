import { biasesAt } from "./epilogue";
import { withGatedEpilogue } from "./gates";
import { beside, dot, type Plain, type PlainCall, plain } from "./plain";

/** What linear makes of a call, [B,F,S,K], by the definition of a matrix product. */
export function linearOf(call: PlainCall): Plain {
  const x = beside(call.operand("x"), call.optional("x2"));
  const weight = call.operand("weight");
  const [b, f, s, c] = x.dims as [number, number, number, number];
  const rows = weight.dims[0]!;
  const product = plain([b, f, s, rows], (i, j, t, row) => {
    const token = ((i! * f + j!) * s + t!) * c;
    return biasesAt(call, i!, j!, row!) + dot(x.data, token, weight.data, row! * c, c);
  });
  return withGatedEpilogue(call, product);
}
