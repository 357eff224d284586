import { channelRange, clipRange, elementwise, frameRange, type Graph, reshape, type Tensor, tokens } from "@vd/tensor";
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

/** A view of the first coefficients of a step: [rows, columns]. */
const coefficientsOf = (all: Tensor, rows: number, columns: number) =>
  channelRange(clipRange(all, 0, rows), 0, columns);

type Attrs = NonNullable<BenchCase["opCase"]["attrs"]>;

/** Noise drawn by a launch of its own: no other op draws, so it is a step of nothing else. */
function drawn(g: Graph, { x, coefficients, philox }: Operands, { lanes }: Attrs): Tensor {
  const few = coefficientsOf(coefficients!, 2, 3);
  return g.samplerStep({ prediction: x!, x: x!, coefficients: few, philox, lanes: lanes as number | undefined });
}

/** Data thresholded by a launch of its own: no other op finds a quantile, so it is a step of nothing else. */
function thresholded(g: Graph, data: Tensor, { x, coefficients }: Operands, { quantile, maxValue }: Attrs): Tensor {
  const given = reshape(data, x!.dims);
  const limits = { quantile: quantile as number | undefined, maxValue: maxValue as number | undefined };
  const few = coefficientsOf(coefficients!, 3, 4);
  const step = { prediction: given, x: given, coefficients: few, bounds: "threshold" as const };
  return tokens(g.samplerStep({ ...step, ...limits }));
}

/** Weight and threshold of a blend; the time does not depend on them. */
const [BLEND, LIMIT] = [0.5, 1];
/** Makes a step from 0 to 1 of what is positive. */
const STEEP = 1e30;

/** Data blended with earlier latents where no channel of a pixel is far from them: distances, the share of each pixel from four
 *  channels at most an op, the blend. */
function blended(g: Graph, data: Tensor, previous: Tensor): Tensor {
  const far = elementwise(g, (e) => e.abs(e.sub(data, previous)), { out: g.empty(data.dims, "f32") });
  const channels = Array.from({ length: data.dims[3]! }, (_, c) => channelRange(far, c, c + 1));
  const farthest = (all: readonly Tensor[]): Tensor => {
    const [first, ...rest] = all.slice(0, WEIGHTS.length);
    const isLast = all.length <= WEIGHTS.length;
    const most = elementwise(
      g,
      (e) => {
        const largest = rest.reduce<Parameters<typeof e.max>[0]>((found, each) => e.max(found, each), first!);
        return isLast ? e.mul(e.min(e.relu(e.mul(e.sub(LIMIT, largest), STEEP)), 1), BLEND) : e.abs(largest);
      },
      { out: g.empty(first!.dims, "f32") },
    );
    return isLast ? most : farthest([most, ...all.slice(WEIGHTS.length)]);
  };
  const share = farthest(channels);
  return elementwise(g, (e) => e.add(data, e.mul(share, e.sub(previous, data))), { out: g.empty(data.dims, "f32") });
}

/** The terms of a step as tokens: sample, guided prediction, noise, history. */
function termsOf(g: Graph, operands: Operands, attrs: Attrs): Tensor[] {
  const { prediction, x, guidance, noise, philox, history } = operands;
  const guided = guidance ? g.guide({ x: prediction!, scale: guidance }) : prediction!;
  const unit = philox ? drawn(g, operands, attrs) : noise;
  const frames = x!.dims[1]!;
  const [count = 0, , ...rest] = history?.dims ?? [];
  const remembered = history && reshape(history, [1, count * frames, ...rest]);
  const planes = Array.from({ length: count }, (_, h) => frameRange(remembered!, h * frames, (h + 1) * frames));
  return [x!, guided, ...(unit ? [unit] : []), ...planes].map(tokens);
}

/** The data prediction of a step's terms, within bounds and blended as the step has it. */
function dataOf(g: Graph, terms: readonly Tensor[], operands: Operands, attrs: Attrs): Tensor {
  let data = weightedSum(g, terms);
  const place = () => ({ out: g.empty(data.dims, "f32") });
  if (attrs.bounds === "clip") data = elementwise(g, (e) => e.max(e.min(data, 1), -1), place());
  if (attrs.bounds === "threshold") data = thresholded(g, data, operands, attrs);
  return operands.previous ? blended(g, data, tokens(operands.previous)) : data;
}

/**
 * The sequence of our own ops that a step is without fusion: guide, weighted sums, clipping, blending by element-wise ops, denoise_input;
 * drawing noise and thresholding, which no other op does, by steps that do nothing else. Undefined for other ops.
 */
export function unfusedStep({ op, opCase }: BenchCase): UnfusedOp | undefined {
  const { inputs, attrs = {}, also = [] } = opCase;
  if (op !== "sampler_step") return undefined;
  const hasData = "previous" in inputs || (attrs.bounds !== undefined && attrs.bounds !== "none");
  return (g, operands, set) => {
    const terms = termsOf(g, operands, attrs);
    if (hasData) terms.push(dataOf(g, terms, operands, attrs));
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
