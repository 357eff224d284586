import {
  at,
  biasesAt,
  dot,
  type PlainCall,
  type PlainResults,
  plain,
  withGatedEpilogue,
} from "../../contract/reference";

/** linear_q8: a matrix product of the numbers that codes and scales stand for. */
export default function linearQ8(call: PlainCall): PlainResults {
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
  return { y: withGatedEpilogue(call, product) };
}
