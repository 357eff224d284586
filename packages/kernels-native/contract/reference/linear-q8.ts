import { biasesAt } from "./epilogue";
import { withGatedEpilogue } from "./gates";
import { layerNormed } from "./norms";
import { at, dot, type Plain, type PlainCall, plain, withOperands } from "./plain";
import { roundToCode } from "./rounding";

/** A linear layer in 8 bits with its epilogue: a matrix product of the numbers that codes and scales stand for. */
export function linearInCodes(call: PlainCall): Plain {
  const [x, xScale] = [call.operand("x"), call.operand("xScale")];
  const [weight, weightScale] = [call.operand("weight"), call.operand("weightScale")];
  const [b, f, s, c] = x.dims as [number, number, number, number];
  const rows = weight.dims[0]!;
  const product = plain([b, f, s, rows], (i, j, t, row) => {
    let sum = biasesAt(call, i!, j!, row!);
    const token = ((i! * f + j!) * s + t!) * c;
    for (let block = 0; block * 128 < c; block++) {
      const count = Math.min(128, c - block * 128);
      const part = dot(x.data, token + block * 128, weight.data, row! * c + block * 128, count);
      sum += part * at(xScale, i!, j!, t!, block) * at(weightScale, row!, block);
    }
    return sum;
  });
  return withGatedEpilogue(call, product);
}

/** The float8 codes of numbers with one scale. */
export const float8Codes = ({ dims, data }: Plain, scale: Plain): Plain => ({
  dims,
  data: data.map((v) => roundToCode(Math.fround(v), scale.data[0]!, false)),
});

/** A linear layer in float8 with its epilogue, of tokens that a norm normalises and rounds. */
export function normedLinearInCodes(call: PlainCall): Plain {
  const xScale = call.operand("normScale");
  const norm = { weight: call.optional("normWeight"), bias: call.optional("normBias") };
  return linearInCodes(withOperands(call, { x: float8Codes(layerNormed(withOperands(call, norm)), xScale), xScale }));
}
