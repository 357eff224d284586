import type { DType } from "./dtype";
import type { Expr } from "./expr";

/** A dimension of a tensor: a name (bound by the first tensor that has it, checked by the others), an expression, or
 *  one that may also be 1 (then it is broadcast). */
export type DimSpec = Expr | { oneOr: Expr };

/** One operand or result of an op. */
export interface TensorSpec {
  dims: readonly DimSpec[];
  dtype: readonly DType[];
  doc: string;
  /** May be left out; its dimensions are then 0. */
  optional?: true;
  /** Usually a weight: may lie in read-only memory at any byte offset, in any of `dtype` whatever the others are. */
  constant?: true;
  /** Offsets of packed sequences into the dimension `into`: they must never fall and end at most at its size. They are
   *  data, so backends check them before each run. */
  offsets?: { into: string };
  /** The CPU takes 16-bit floats here. It computes in float32 and takes them for constant operands, else only where this
   *  says so. */
  halfOnCpu?: true;
  /** Of a result: no byte of it may belong to these operands, or any, which are read while this is written. It may take exactly
   *  the place of any other operand of its shape, and lie nowhere else over one. */
  apart?: "all" | readonly string[];
}

/** One attribute: a compile-time constant of a recorded row. */
export type AttrSpec = { doc: string } & (
  | { kind: "int"; min: number; max: number; default?: number }
  | { kind: "ints"; length: number; min: number; max: number; default?: readonly number[] }
  | { kind: "floats"; length: number; min: number; max: number; default: readonly number[] }
  | { kind: "enums"; length: number; type: string; values: readonly string[]; default?: readonly string[] }
  | { kind: "float"; min: number; max: number; default?: number }
  | { kind: "bool"; default?: boolean }
  | { kind: "enum"; type: string; values: readonly string[]; default?: string }
);

/** How many numbers an attribute takes in a recorded row: lists have a fixed place there. */
export const slotsOf = (spec: AttrSpec): number => ("length" in spec ? spec.length : 1);

/** A condition beyond shapes; `expected` finishes the sentence "expected …". */
export interface Rule {
  /** The argument that is named in the message. */
  where: string;
  /** Holds when not 0. */
  test: Expr;
  expected: string;
  /** The number that is shown as what came. */
  got: Expr;
}

/** Sizes and attributes of one call, for cost models: dimensions by name, attributes as numbers. */
export type CostScope = Readonly<Record<string, number>>;

/** What one call costs; a multiplication and an addition are two FLOP, bytes are operands read plus results written. */
export interface Cost {
  flops: number;
}

/** How far a backend may be from the reference: normalised mean squared error, and worst |Δ| over the rms. */
export interface Tolerance {
  nmse: number;
  worst: number;
}

/** The single definition of an op: types, validation rows, documentation and tests come from it. */
export interface OpDefinition {
  id: string;
  summary: string;
  /** What is computed, a line per equation, by the names of operands and attributes; those that are absent drop out. */
  formula: readonly string[];
  source: readonly string[];
  inputs: Readonly<Record<string, TensorSpec>>;
  attrs: Readonly<Record<string, AttrSpec>>;
  /** Sizes that follow from dimensions and attributes. */
  derived?: Readonly<Record<string, Expr>>;
  outputs: Readonly<Record<string, TensorSpec>>;
  rules: readonly Rule[];
  cost(scope: CostScope): Cost;
  tolerance: Readonly<Partial<Record<DType, Tolerance>>>;
}

/** Checks nothing, keeps the literal types. */
export function defineOp<const T extends OpDefinition>(definition: T): T {
  return definition;
}

type IntOptions = { min?: number; max?: number; default?: number };

/** An integer attribute. */
export const int = (doc: string, { min = 0, max = 2 ** 31 - 1, ...rest }: IntOptions = {}) =>
  ({ kind: "int", doc, min, max, ...rest }) as const satisfies AttrSpec;

/** A fixed-length list of integers. */
export const ints = (
  doc: string,
  length: number,
  { min = 0, max = 2 ** 31 - 1, ...rest }: { min?: number; max?: number; default?: readonly number[] } = {},
) => ({ kind: "ints", doc, length, min, max, ...rest }) as const satisfies AttrSpec;

/** A finite float attribute. */
export const float = (doc: string, initial?: number, { min = -3.4e38, max = 3.4e38 } = {}) =>
  ({
    kind: "float",
    doc,
    min,
    max,
    ...(initial === undefined ? {} : { default: initial }),
  }) as const satisfies AttrSpec;

/** A list of at most `length` finite floats; those that are not given are 0. */
export const floats = (doc: string, length: number, { min = -3.4e38, max = 3.4e38 } = {}) =>
  ({ kind: "floats", doc, length, min, max, default: [] }) as const satisfies AttrSpec;

/** A boolean attribute, false unless given. */
export const bool = (doc: string) => ({ kind: "bool", doc, default: false }) as const satisfies AttrSpec;

/** One of named values; `type` names the C++ enum. */
export const oneOf = <const V extends readonly string[]>(type: string, values: V, doc: string, initial?: V[number]) =>
  ({ kind: "enum", type, values, doc, ...(initial === undefined ? {} : { default: initial as string }) }) as {
    kind: "enum";
    type: string;
    values: V;
    doc: string;
    default?: string;
  };

/** A list of one to `length` named values; `type` names the C++ enum. The first value stands behind the end of a shorter list. */
export const enums = <const V extends readonly string[]>(type: string, values: V, doc: string, length: number) =>
  ({ kind: "enums", type, values, doc, length }) as {
    kind: "enums";
    type: string;
    values: V;
    doc: string;
    length: number;
    default?: readonly string[];
  };
