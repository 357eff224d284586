import { at, type Plain, type PlainCall, type PlainResults, plain } from "../../contract/reference";

const flat = (dims: readonly number[], index: readonly number[]) =>
  dims.reduce((sum, dim, d) => sum * dim + index[d]!, 0);

/** What the denoiser gets next, where there is a picture. */
function nextInput(call: PlainCall, next: Plain, rows: number): PlainResults {
  const [image, scale] = [call.optional("image"), call.optional("inputScale")];
  if (!image || !scale) return {};
  const [, F, H, W, C] = next.dims as [number, number, number, number, number];
  const input = plain([rows, F, H, W, C + image.dims[4]!], (row, f, h, w, c) => {
    if (c < C) return scale.data[0]! * at(next, 0, f, h, w, c);
    return row === rows - 1 ? at(image, 0, 0, h, w, c - C) : 0;
  });
  return { input };
}

/** The tensors of a sampler's step, each written as a sum over the coefficients' columns. */
export default function samplerStep(call: PlainCall): PlainResults {
  const [prediction, x, table] = [call.operand("prediction"), call.operand("x"), call.operand("coefficients").data];
  const [guidance, noise, history] = ["guidance", "noise", "history"].map((name) => call.optional(name));
  const count = call.number("numHistory");
  const frame = x.dims.slice(1);
  const combined = (row: number, index: readonly number[]) => {
    const [first, second] = [at(prediction, 0, ...index), at(prediction, 1, ...index)];
    const scale = guidance ? guidance.data[index[0]!]! : 0;
    const terms = [at(x, 0, ...index), (1 - scale) * first + scale * second, noise ? at(noise, 0, ...index) : 0];
    for (let h = 0; h < count; h++) terms.push(history!.data[h * x.data.length + flat(frame, index)]!);
    return terms.reduce((sum, term, k) => sum + table[row * (count + 3) + k]! * term, 0);
  };
  const next = plain(x.dims, (_, ...index) => combined(0, index));
  return {
    next,
    denoised: plain(x.dims, (_, ...index) => combined(1, index)),
    nextHistory: plain([count, ...frame], (h, ...index) => combined(2 + h, index)),
    ...nextInput(call, next, prediction.dims[0]!),
  };
}
