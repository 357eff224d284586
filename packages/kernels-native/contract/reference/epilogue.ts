import { ACTIVATE } from "./activations";
import { at, type Plain, type PlainCall, plain } from "./plain";

/** Applies the shared epilogue but its biases to a product [B,F,…,K]: activation, scale, residuals. */
export function withEpilogue(call: PlainCall, product: Plain): Plain {
  const act = ACTIVATE[call.word("act")];
  const [residual, residual2] = [call.optional("residual"), call.optional("residual2")];
  return plain(product.dims, (...index) => {
    const value = act ? act(at(product, ...index)) : at(product, ...index);
    const first = residual ? call.number("residualScale") * at(residual, ...index) : 0;
    const second = residual2 ? call.number("residual2Scale") * at(residual2, ...index) : 0;
    return call.number("outScale") * value + first + second;
  });
}

/** Returns what bias and frameBias add to row `row` of the product in clip b, frame f. */
export function biasesAt(call: PlainCall, b: number, f: number, row: number): number {
  const [bias, frameBias] = [call.optional("bias"), call.optional("frameBias")];
  return (bias ? bias.data[row]! : 0) + (frameBias ? at(frameBias, b, f, row) : 0);
}
