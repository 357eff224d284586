import { type OpId, VdError } from "@vd/kernels-native";
import { OP_CASES } from "@vd/kernels-native/cases";
import { countOf, type OpCase, type OpCases, type Operand, operandOf } from "@vd/kernels-native/contract";
import { nearestNames } from "@vd/tensor";

/** A shape of an op with a name from a model. */
export interface BenchCase {
  op: OpId;
  /** `<op>.<layer>`. */
  name: string;
  opCase: OpCase;
  /** What the peer does for it, where that is not its version of `op`. */
  peerOp?: string;
}

/** Shapes that the projects measured which this one grew out of: [batch, heads, tokens, head width]. */
const ORIGIN_ATTENTION = [
  [2, 8, 64, 64],
  [4, 12, 128, 64],
  [2, 16, 256, 64],
  [2, 8, 77, 64],
] as const;

function originAttention([batch, heads, tokens, width]: readonly [number, number, number, number]): BenchCase {
  const dims = [batch, 1, tokens, heads * width];
  const attrs = { heads, scale: 1 / Math.sqrt(width) };
  const name = `origin.${[batch, heads, tokens, width].join("x")}`;
  return { op: "attention", name: `attention.${name}`, opCase: { name, inputs: { q: dims, k: dims, v: dims }, attrs } };
}

const originConv: BenchCase = {
  op: "conv",
  name: "conv.origin.3x3x3.320",
  opCase: {
    name: "origin.3x3x3.320",
    inputs: { x: [1, 14, 32, 32, 320], weight: [320, 320, 3, 3, 3], bias: [320] },
    attrs: { padding: [1, 1, 1, 1, 1, 1] },
  },
};

/** A convolution with the batch norm behind it folded in, and SiLU: one launch beside the peer's three. */
const convNormAct: BenchCase = {
  op: "conv",
  name: "conv.conv_bn_silu.3x3.256",
  opCase: {
    name: "conv_bn_silu.3x3.256",
    inputs: { x: [1, 16, 80, 80, 256], weight: [256, 256, 1, 3, 3], bias: [256] },
    attrs: { padding: [0, 0, 1, 1, 1, 1], act: "silu" },
  },
  peerOp: "conv_norm_act",
};

/** Most elements of an operand that the CPU computes in reasonable time. */
const MOST_CPU_ELEMENTS = 2 ** 23;

const isForCpu = ({ opCase }: BenchCase) =>
  (Object.values(opCase.inputs) as (Operand | readonly number[])[]).every(
    (given) => countOf(operandOf(given).dims) <= MOST_CPU_ELEMENTS,
  );

/** Every named shape of every op, the origin projects' own, and what the peer has several ops for. */
export function benchCases(): BenchCase[] {
  const named = (Object.entries(OP_CASES) as [OpId, OpCases][]).flatMap(([op, { bench }]) =>
    bench.map((opCase) => ({ op, name: `${op}.${opCase.name}`, opCase })),
  );
  return [...ORIGIN_ATTENTION.map(originAttention), originConv, convNormAct, ...named];
}

/** Shapes that a CPU takes seconds to minutes for, each time: they are timed there when their names are asked for. */
const LARGE = /svd-xt\.|\.video\.|^conv\.origin\./;

/**
 * The shapes of an op.
 *
 * @throws VdError `attr` with the nearest names for one that there is not, or that has none
 */
function casesOf(op: string): BenchCase[] {
  const all = benchCases();
  const found = all.filter((each) => each.op === op);
  if (found.length > 0) return found;
  const names = new Set<string>(all.map((each) => each.op));
  const hint = `Nearest: ${nearestNames(op, names).join(", ")}.`;
  throw new VdError({
    code: "attr",
    where: "--op",
    expected: "an op with shapes to time",
    got: JSON.stringify(op),
    hint,
  });
}

/**
 * The shapes whose names contain `pattern`; without one, or with an empty one, those that the device computes in
 * reasonable time.
 *
 * @param op - all shapes are of this op
 * @throws VdError `attr` with the nearest names for a pattern or an op that fits none
 */
export function chooseCases(pattern: string | undefined, device: "cpu" | "cuda", op?: string): BenchCase[] {
  const all = op === undefined ? benchCases() : casesOf(op);
  if (!pattern && op !== undefined) return all;
  if (!pattern) return device === "cuda" ? all : all.filter((each) => isForCpu(each) && !LARGE.test(each.name));
  const found = all.filter(({ name }) => name.includes(pattern));
  if (found.length > 0) return found;
  const near = nearestNames(pattern, new Set([...all.map(({ name }) => name), ...all.map(({ op }) => op)]));
  throw new VdError({
    code: "attr",
    where: "PATTERN",
    expected: "a part of the name of an op or a shape",
    got: JSON.stringify(pattern),
    hint: `Nearest: ${near.join(", ")}.`,
  });
}
