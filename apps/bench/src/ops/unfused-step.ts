import { elementwise, frameRange, type Graph, reshape, type Tensor, tokens } from "@vd/tensor";
import type { BenchCase } from "./cases";

/** Tensors by the names of the op's operands. */
type Operands = Readonly<Record<string, Tensor>>;

/** Records a sequence of ops for one copy of a case's operands. */
export type UnfusedOp = (g: Graph, operands: Operands, set: number) => void;

/** Weights of the terms. The time does not depend on them, but a weight of 0 or 1 would be another expression. */
const WEIGHTS = [0.9, -0.1, 0.3, 0.7];

/** A weighted sum of tokens, at most four tensors an op; the result is float32. */
function weightedSum(g: Graph, terms: readonly Tensor[]): Tensor {
  const [first, ...rest] = terms.slice(0, WEIGHTS.length);
  const sum = elementwise(
    g,
    (e) => rest.reduce((total, term, i) => e.add(total, e.mul(term, WEIGHTS[i + 1]!)), e.mul(first!, WEIGHTS[0]!)),
    { out: g.empty(first!.dims, "f32") },
  );
  return terms.length > WEIGHTS.length ? weightedSum(g, [sum, ...terms.slice(WEIGHTS.length)]) : sum;
}

/** The terms of a step as tokens: sample, guided prediction, noise, history. */
function termsOf(g: Graph, { prediction, x, guidance, noise, history }: Operands): Tensor[] {
  const guided = guidance ? g.guide({ x: prediction!, scale: guidance }) : prediction!;
  const frames = x!.dims[1]!;
  const [count = 0, , ...rest] = history?.dims ?? [];
  const remembered = history && reshape(history, [1, count * frames, ...rest]);
  const planes = Array.from({ length: count }, (_, h) => frameRange(remembered!, h * frames, (h + 1) * frames));
  return [x!, guided, ...(noise ? [noise] : []), ...planes].map(tokens);
}

/**
 * The sequence of our own ops that a step is without sampler_step: guide, weighted sums, clipping, denoise_input. Undefined for
 * other ops, and for steps that draw noise, threshold or blend, which no other op does.
 */
export function unfusedStep({ op, opCase }: BenchCase): UnfusedOp | undefined {
  const { inputs, attrs = {}, also = [] } = opCase;
  if (op !== "sampler_step" || "philox" in inputs || "previous" in inputs || attrs.bounds === "threshold")
    return undefined;
  return (g, operands, set) => {
    const terms = termsOf(g, operands);
    if (attrs.bounds === "clip") {
      const data = weightedSum(g, terms);
      terms.push(elementwise(g, (e) => e.max(e.min(data, 1), -1), { out: g.empty(data.dims, "f32") }));
    }
    const next = weightedSum(g, terms);
    g.output(`result ${set}`, next);
    const count = operands.history?.dims[0] ?? 0;
    for (let h = 0; h < count; h++) g.output(`history ${h} ${set}`, weightedSum(g, terms));
    if (also.includes("denoised")) g.output(`denoised ${set}`, weightedSum(g, terms));
    const { image, inputScale, prediction, x } = operands;
    if (!image || !inputScale) return;
    const latents = reshape(next, x!.dims);
    g.output(`input ${set}`, g.denoiseInput({ latents, image, inputScale, rows: prediction!.dims[0]! }));
  };
}
