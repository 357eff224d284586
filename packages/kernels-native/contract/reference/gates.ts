import { ACTIVATE } from "./activations";
import { withEpilogue } from "./epilogue";
import { at, type Plain, type PlainCall, plain } from "./plain";

/** What the second half of the columns goes through. */
const GATES: Readonly<Record<string, (x: number) => number>> = { geglu: ACTIVATE.gelu!, swiglu: ACTIVATE.silu! };

/** Applies the shared epilogue but its biases to a product [B,F,S,N], gated activations too, which halve the columns. */
export function withGatedEpilogue(call: PlainCall, product: Plain): Plain {
  const gate = GATES[call.word("act")];
  if (!gate) return withEpilogue(call, product);
  const half = product.dims.at(-1)! / 2;
  const gated = plain(
    [...product.dims.slice(0, -1), half],
    (i, j, t, k) => at(product, i!, j!, t!, k!) * gate(at(product, i!, j!, t!, half + k!)),
  );
  return withEpilogue(call, gated);
}
