import { bool, float, int, ints, oneOf, type Rule, type TensorSpec } from "./define-op";
import { FLOATS } from "./dtype";
import { add, and, attr, choose, eq, mod, mul, or, present } from "./expr";

const overTime = eq(attr("axis"), 1);
const overSpace = eq(attr("axis"), 0);
const frameOfGrid = mul(attr("grid", 0), attr("grid", 1));

/** The attributes that say what attention is over, and how scores are scaled. */
export const attentionHeadAttrs = {
  axis: oneOf("AttentionAxis", ["space", "time"], "what a sequence runs over", "space"),
  heads: int("number of heads; E is a multiple", { min: 1, max: 4096 }),
  scale: float("factor of the scores, usually 1/sqrt(head dimension)"),
};

/** The same with those that say which keys a query sees. */
export const attentionAttrs = {
  ...attentionHeadAttrs,
  causal: bool("row r sees keys 0..r of its sequence, aligned top-left"),
  window: ints(
    "a query sees keys that lie less than so many frames, rows and columns away in its sequence; 0: however many",
    3,
    { default: [0, 0, 0] },
  ),
  grid: ints(
    "rows and columns of a frame, for `window`: element i of a sequence lies in frame i / (rows · columns). With 1 by 1 " +
      "every element is a frame, so the window's first number counts elements",
    2,
    { min: 1, max: 32768, default: [1, 1] },
  ),
};

/** Queries, keys and values of attention. */
export const attentionOperands = {
  q: { dims: ["B", "F", "S", "E"], dtype: FLOATS, halfOnCpu: true, doc: "queries, heads side by side" },
  k: {
    dims: ["B", "Fk", "L", "E"],
    dtype: FLOATS,
    halfOnCpu: true,
    doc: "keys; over space one frame serves all frames; over time Fk is the number of keys and L = S",
  },
  v: { dims: ["B", "Fk", "L", "E"], dtype: FLOATS, halfOnCpu: true, doc: "values" },
} as const satisfies Record<string, TensorSpec>;

const codeScale = (of: string) =>
  ({
    dims: [1, 1, 1, 1],
    dtype: ["f32"],
    doc: `what codes of ${of} stand for multiples of; finite and positive`,
  }) as const;

/** Queries, keys and values as float8 codes, and their scales. */
export const attentionCodes = {
  q: { dims: ["B", "F", "S", "E"], dtype: ["f8e4m3"], doc: "codes of queries, heads side by side" },
  k: {
    dims: ["B", "Fk", "L", "E"],
    dtype: ["f8e4m3"],
    doc: "codes of keys; over space one frame serves all frames; over time Fk is the number of keys and L = S",
  },
  v: { dims: ["B", "Fk", "L", "E"], dtype: ["f8e4m3"], doc: "codes of values" },
  qScale: codeScale("q"),
  kScale: codeScale("k"),
  vScale: codeScale("v"),
} as const satisfies Record<string, TensorSpec>;

/** The mask and the lengths of packed sequences; names of {@link attentionLengths} stand in their dimensions. */
export const attentionMasks = {
  mask: {
    dims: [{ oneOr: "B" }, { oneOr: attr("heads") }, { oneOr: "Q" }, "K"],
    dtype: ["f32", "f16", "bf16", "u8"],
    optional: true,
    halfOnCpu: true,
    doc:
      "Q queries and K keys of the axis, the same for all its sequences: floats are added to the scaled scores, a u8 of 0 " +
      "forbids",
  },
  cuQ: {
    dims: ["N1"],
    dtype: ["i32"],
    optional: true,
    offsets: { into: "Q" },
    doc: "offsets of packed sequences along the axis, N + 1 of them, the same in every frame (space) or token (time)",
  },
  cuK: {
    dims: ["N1"],
    dtype: ["i32"],
    optional: true,
    offsets: { into: "K" },
    doc: "offsets of packed sequences among the keys",
  },
} as const satisfies Record<string, TensorSpec>;

/** Numbers of queries Q and of keys K along the axis. */
export const attentionLengths = { Q: choose(overTime, "F", "S"), K: choose(overTime, "Fk", "L") };

/** What must hold beyond the shapes of queries, keys and values. */
export const attentionShapeRules: readonly Rule[] = [
  { where: "heads", test: eq(mod("E", attr("heads")), 0), expected: "a divisor of the channels", got: attr("heads") },
  {
    where: "k",
    test: or(overTime, or(eq("Fk", 1), eq("Fk", "F"))),
    expected: "1 frame or as many as q over space",
    got: "Fk",
  },
  { where: "k", test: or(overSpace, eq("L", "S")), expected: "as many tokens as q over time", got: "L" },
];

/** The same with {@link attentionMasks}. */
export const attentionRules: readonly Rule[] = [
  ...attentionShapeRules,
  {
    where: "cuQ",
    test: eq(present("cuQ"), present("cuK")),
    expected: "cuQ and cuK both or neither",
    got: add(present("cuQ"), present("cuK")),
  },
  {
    where: "grid",
    test: or(present("cuQ"), and(eq(mod("Q", frameOfGrid), 0), eq(mod("K", frameOfGrid), 0))),
    expected: "whole frames of rows by columns in the numbers of queries and keys",
    got: frameOfGrid,
  },
];
