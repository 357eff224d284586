import {
  ACTIVATE,
  at,
  beside,
  biasesAt,
  type PlainCall,
  type PlainResults,
  plain,
  withEpilogue,
} from "../../contract/reference";

/** What the second half of the columns goes through. */
const GATES: Readonly<Record<string, (x: number) => number>> = { geglu: ACTIVATE.gelu!, swiglu: ACTIVATE.silu! };

/** linear by the definition of a matrix product. */
export default function linear(call: PlainCall): PlainResults {
  const x = beside(call.operand("x"), call.optional("x2"));
  const weight = call.operand("weight");
  const [b, f, s, c] = x.dims as [number, number, number, number];
  const rows = weight.dims[0]!;
  const product = plain([b, f, s, rows], (i, j, t, row) => {
    let sum = biasesAt(call, i, j, row);
    const token = ((i * f + j) * s + t) * c;
    for (let k = 0; k < c; k++) sum += x.data[token + k]! * weight.data[row * c + k]!;
    return sum;
  });
  const gate = GATES[call.word("act")];
  if (!gate) return { y: withEpilogue(call, product) };
  const half = rows / 2;
  const gated = plain([b, f, s, half], (i, j, t, k) => at(product, i, j, t, k) * gate(at(product, i, j, t, half + k)));
  return { y: withEpilogue(call, gated) };
}
