import {
  DTYPES,
  dtypeIndex,
  type Expr,
  type ExprScope,
  evaluate,
  MAX_RANK,
  OPS,
  type OpCase,
  type OpDefinition,
  type Operand,
  type OpId,
  operandOf,
  slotsOf,
  spanOf,
  type TensorSpec,
} from "../../contract/index";

/** One memory of an encoded program. */
export interface Block {
  bytes: number;
  constant: boolean;
}

/** A valid program of one row, every tensor in a block of its own. */
export interface EncodedCase {
  name: string;
  words: number[];
  blocks: Block[];
}

const ABSENT = [-1, 0, 0, 1, 1, 0, 0, 0, 0, 1];

function attrWords(op: OpDefinition, given: OpCase["attrs"]): Map<string, number[]> {
  const words = new Map<string, number[]>();
  for (const [name, spec] of Object.entries(op.attrs)) {
    const value = given?.[name] ?? spec.default;
    const list = Array.isArray(value) ? (value as (number | string)[]) : [value as number | boolean | string];
    const isNamed = spec.kind === "enum" || spec.kind === "enums";
    const numbers = list.map((item) => (isNamed ? spec.values.indexOf(item as string) : Number(item)));
    words.set(name, [...numbers, ...new Array<number>(slotsOf(spec) - numbers.length).fill(0)]);
  }
  return words;
}

function scopeOf(op: OpDefinition, operands: Record<string, Operand>, attrs: Map<string, number[]>): ExprScope {
  const sizes = new Map<string, number>();
  const scope: ExprScope = {
    dim: (name) => sizes.get(name) ?? 0,
    attr: (name, index) => attrs.get(name)![index]!,
    present: (name) => operands[name] !== undefined,
  };
  for (const [name, spec] of Object.entries(op.inputs))
    spec.dims.forEach((dim, i) => {
      const free = typeof dim === "string" && !(dim in (op.derived ?? {})) && !sizes.has(dim);
      if (free && operands[name]) sizes.set(dim, operands[name].dims[i]!);
    });
  for (const [name, expr] of Object.entries(op.derived ?? {})) sizes.set(name, evaluate(expr, scope));
  return scope;
}

const sizeOf = (spec: TensorSpec, scope: ExprScope) =>
  spec.dims.map((dim) => evaluate(typeof dim === "object" && "oneOr" in dim ? dim.oneOr : (dim as Expr), scope));

/** Encodes a case as native/core/validate.h describes, its blocks numbered from `firstBlock`. */
export function encodeCase(id: OpId, opCase: OpCase, firstBlock = 0): EncodedCase {
  const op: OpDefinition = OPS[id];
  const given = Object.entries(opCase.inputs) as [string, Operand | readonly number[]][];
  const operands = Object.fromEntries(given.map(([name, operand]) => [name, operandOf(operand)]));
  const attrs = attrWords(op, opCase.attrs);
  const scope = scopeOf(op, operands, attrs);
  const blocks: Block[] = [];
  const words = [Object.keys(OPS).indexOf(id), ...[...attrs.values()].flat()];
  const place = ({ dims, dtype = "f32", gap = 0, shiftBytes = 0 }: Operand, constant: boolean) => {
    const pitch = dims.at(-1)! + gap;
    blocks.push({ bytes: shiftBytes + spanOf(dims, pitch) * DTYPES[dtype], constant });
    const padded = Array.from({ length: MAX_RANK }, (_, i) => dims[i] ?? 0);
    words.push(firstBlock + blocks.length - 1, shiftBytes, dtypeIndex(dtype), dims.length, ...padded, pitch);
  };
  for (const [name, spec] of Object.entries(op.inputs)) {
    const operand = operands[name];
    if (operand) place(operand, spec.constant === true && operand.constant !== false);
    else words.push(...ABSENT);
  }
  Object.entries(op.outputs).forEach(([name, spec], i) => {
    const wanted = i === 0 || opCase.also?.includes(name);
    const first = i === 0 ? { gap: opCase.outGap ?? 0, dtype: opCase.outType ?? "f32" } : {};
    if (wanted) place({ dims: sizeOf(spec, scope), ...first }, false);
    else words.push(...ABSENT);
  });
  return { name: `${id}: ${opCase.name}`, words, blocks };
}

/** True for a case that is quick whatever its words become. */
export function isSmall({ blocks }: EncodedCase): boolean {
  return blocks.every(({ bytes }) => bytes <= 16_384);
}
