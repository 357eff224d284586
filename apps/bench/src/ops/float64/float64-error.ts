import { allocateBuffer, DTYPES, type DType, type OpId } from "@vd/kernels-native";
import { decodeStored, type Plan } from "@vd/tensor";
import { relativeL2 } from "../../stats/summary";
import type { BenchCase } from "../cases";
import type { OpOperand } from "../operands";
import { sampleAttention } from "./attention";
import { sampleConv, sampleNormedConv } from "./conv";
import { sampleLinear } from "./linear";
import { sampleAll, sampleGroups, sampleTokens } from "./norms";
import { type Numbers, storedNumbers, unroundedNumbers } from "./numbers";
import { attrsOf, computeSampled, type FullCall, type Sample, type SampledCall } from "./sampled-call";

/** How some elements of an op's result are computed without the rest. */
interface Sampler {
  take(call: FullCall): SampledCall[];
  /** What the op is without rounding to 8 bits; undefined where it does not round. */
  unrounded?: OpId | "operand";
  /** Of results in codes: what they are multiples of, an operand or a result for each token; the operand wherever it is given. */
  scale?: "yScale" | "scales";
}

const SAMPLERS: Readonly<Partial<Record<OpId, Sampler>>> = {
  linear: { take: sampleLinear },
  linear_q8: { take: sampleLinear, unrounded: "linear_q8" },
  linear_q8_codes: { take: sampleLinear, unrounded: "linear_q8", scale: "yScale" },
  conv: { take: sampleConv },
  conv_q8: { take: sampleConv, unrounded: "conv_q8" },
  conv_q8_codes: { take: sampleConv, unrounded: "conv_q8", scale: "yScale" },
  conv_winograd: { take: sampleNormedConv },
  attention: { take: sampleAttention },
  attention_f8: { take: sampleAttention },
  attention_f8_codes: { take: sampleAttention, scale: "yScale" },
  attention_q8: { take: sampleAttention, unrounded: "attention" },
  layer_norm: { take: sampleTokens },
  layer_norm_linear: { take: sampleLinear },
  layer_norm_linear_q8: { take: sampleLinear },
  layer_norm_linear_q8_codes: { take: sampleLinear, scale: "yScale" },
  layer_norm_q8: { take: sampleTokens, unrounded: "layer_norm", scale: "scales" },
  rms_norm: { take: sampleTokens },
  group_norm: { take: sampleGroups },
  group_norm_conv: { take: sampleNormedConv },
  group_norm_conv_q8: { take: sampleNormedConv },
  group_norm_q8: { take: sampleGroups, unrounded: "group_norm", scale: "yScale" },
  quantize: { take: sampleTokens, unrounded: "operand", scale: "scales" },
};

/** Operands and results of calls that are computed whole, in elements, and their operations. */
const MOST_WHOLE_ELEMENTS = 2 ** 18;
const MOST_WHOLE_FLOPS = 2 ** 24;

/** Elements of a case's first result in float64. */
export interface ExactResult {
  op: OpId;
  /** Of the operands as the run has them: what the kernel itself should give. */
  own: Sample;
  /** Of operands, and by an op, without rounding to 8 bits. */
  unrounded?: Sample;
  scale?: Sampler["scale"];
  /** What codes are multiples of, where it is an operand. */
  yScale?: number;
}

/** Errors of a result, as rows have them. */
export interface Float64Errors {
  float64Error?: number;
  unroundedError?: number;
  float64Elements?: number;
}

const countOf = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1);

/** What an operation with this number of operations and these operands and result is sampled by. */
function samplerOf(op: OpId, operands: readonly OpOperand[], resultDims: readonly number[], flops: number) {
  const known = SAMPLERS[op];
  if (known) return known;
  const elements = operands.reduce((sum, { dims }) => sum + countOf(dims), countOf(resultDims));
  return elements <= MOST_WHOLE_ELEMENTS && flops <= MOST_WHOLE_FLOPS ? { take: sampleAll } : undefined;
}

/** The place of an element and its number, where a result is its operand. */
const operandAt = (x: Numbers, { places }: Sample): Sample => ({
  places,
  values: places.map((place) => x.element(place)),
});

/**
 * Computes some elements of a case's first result in float64, from the numbers that the run has; which ones, its name decides. Of a small
 * call of any op all elements are computed, of a large one a sample by the ops that have a way to; undefined for the others.
 *
 * @param result - shape and type of the case's first result
 * @param dtype - what operands of 8 bits are rounded from
 */
export function exactResult(
  { op, name, opCase }: BenchCase,
  operands: readonly OpOperand[],
  result: { dims: readonly number[]; dtype: DType; flops: number },
  dtype: DType,
): ExactResult | undefined {
  const sampler: Sampler | undefined = samplerOf(op, operands, result.dims, result.flops);
  if (!sampler) return undefined;
  const numbers = (of: (operand: OpOperand) => Numbers) =>
    Object.fromEntries(operands.map((operand) => [operand.name, of(operand)]));
  const stored: FullCall = {
    ...{ op, label: name, attrs: attrsOf(op, opCase.attrs ?? {}), operands: numbers(storedNumbers) },
    ...{ resultDims: result.dims, resultType: result.dtype },
  };
  const calls = sampler.take(stored);
  if (calls.length === 0) return undefined;
  const own = computeSampled(stored, op, calls);
  const { unrounded } = sampler;
  const scale = stored.operands.yScale ? "yScale" : sampler.scale;
  const exact = {
    op,
    own,
    ...(scale && { scale }),
    ...(scale === "yScale" && { yScale: stored.operands.yScale!.element(0) }),
  };
  if (unrounded === undefined) return exact;
  if (unrounded === "operand") return { ...exact, unrounded: operandAt(stored.operands.x!, own) };
  const before = { ...stored, operands: numbers((operand) => unroundedNumbers(operand, dtype)) };
  return { ...exact, unrounded: computeSampled(before, unrounded, sampler.take(before)) };
}

/** The elements of an output of a plan at ascending or any places, those that follow each other by one copy. */
async function readElements(plan: Plan, name: string, places: Float64Array): Promise<Float32Array> {
  const { dtype } = plan.layout.graph.outputs.get(name)!;
  const item = DTYPES[dtype];
  const buffer = allocateBuffer(places.length * item);
  try {
    for (let first = 0, last = 0; first < places.length; first = last) {
      for (last = first + 1; last < places.length && places[last] === places[last - 1]! + 1; ) last++;
      const bytes = (last - first) * item;
      await plan.copyOut(name, buffer, { from: places[first]! * item, to: first * item, bytes });
    }
    return decodeStored(buffer.readSync(new Uint8Array(places.length * item)), dtype);
  } finally {
    buffer.freeSync();
  }
}

/** The distance of numbers to the exact ones, in both ways. factors: what `got` are multiples of. */
export function errorsOf(exact: ExactResult, got: ArrayLike<number>, factors?: ArrayLike<number>): Float64Errors {
  const factor = (i: number) => factors?.[i] ?? exact.yScale ?? 1;
  const numbers = Float64Array.from(got, (value, i) => value * factor(i));
  const own = exact.own.values.map((value, i) => value * (exact.own.factors?.[i] ?? factor(i)));
  return {
    float64Error: relativeL2(numbers, own),
    ...(exact.unrounded && { unroundedError: relativeL2(numbers, exact.unrounded.values) }),
    float64Elements: own.length,
  };
}

/** The errors of what a plan of the case has left in its first result. */
export async function float64Errors(exact: ExactResult, plan: Plan): Promise<Float64Errors> {
  const got = await readElements(plan, "result 0", exact.own.places);
  if (exact.scale !== "scales") return errorsOf(exact, got);
  const { outputs } = plan.layout.graph;
  const scales = outputs.get("scales 0");
  // Without its scales a result in codes can be held against codes alone.
  if (!scales) return { float64Error: relativeL2(got, exact.own.values), float64Elements: got.length };
  const all = await plan.read("scales 0");
  const perScale = countOf(outputs.get("result 0")!.dims) / all.length;
  return errorsOf(
    exact,
    got,
    Float64Array.from(exact.own.places, (place) => all[Math.floor(place / perScale)]!),
  );
}

/** The errors of a whole first result that somebody else computed; none of codes with scales of their own, which it is without. */
export function wholeErrors(exact: ExactResult, result: ArrayLike<number>): Float64Errors {
  if (exact.scale === "scales") return {};
  return errorsOf(
    exact,
    Float64Array.from(exact.own.places, (place) => result[place]!),
  );
}
