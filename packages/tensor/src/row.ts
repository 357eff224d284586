import {
  type AttrSpec,
  type DimSpec,
  type DType,
  type Expr,
  type ExprScope,
  OPS,
  type OpDefinition,
  type OpId,
  type TensorSpec,
  VdError,
} from "@vd/kernels-native";
import { evaluate } from "@vd/kernels-native/contract";
import { describe, isTensor, type Tensor } from "./tensor";

/** One recorded call: everything that a device needs, and its cost. */
export interface Row {
  readonly op: OpId;
  readonly name: string;
  /** Attribute values in the contract's order; lists flattened, booleans 0 or 1, enums by position. */
  readonly attrs: readonly number[];
  /** In the contract's order; absent optional ones are undefined. */
  readonly inputs: readonly (Tensor | undefined)[];
  readonly outputs: readonly (Tensor | undefined)[];
  readonly flops: number;
}

/** A checked call before its results have places. */
export interface CheckedCall {
  attrs: number[];
  inputs: (Tensor | undefined)[];
  outputs: { dims: number[]; dtype: DType }[];
  flops: number;
}

type Options = Record<string, unknown>;

class Call implements ExprScope {
  readonly sizes = new Map<string, number>();
  readonly attrs = new Map<string, number[]>();

  constructor(
    readonly definition: OpDefinition,
    readonly name: string,
    readonly options: Options,
  ) {}

  dim(name: string): number {
    return this.sizes.get(name) ?? 0;
  }

  attr(name: string, index: number): number {
    return this.attrs.get(name)![index]!;
  }

  present(name: string): boolean {
    return this.options[name] !== undefined;
  }

  where(argument: string): string {
    return `${this.name}] [${this.definition.id}] [${argument}`;
  }

  fail(code: "shape" | "dtype" | "attr", argument: string, expected: string, got: string): never {
    throw new VdError({ code, where: this.where(argument), expected, got });
  }
}

function integer(call: Call, name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max)
    call.fail("attr", name, `a whole number from ${min} to ${max}`, String(value));
  return value;
}

/** A list of at most `length` items, each checked by `item`, and 0 behind its end. */
function listValue(
  call: Call,
  name: string,
  value: unknown,
  length: number,
  item: (each: unknown) => number,
): number[] {
  if (!Array.isArray(value) || value.length > length)
    call.fail("attr", name, `a list of at most ${length}`, Array.isArray(value) ? String(value.length) : String(value));
  const items = value.map(item);
  return [...items, ...new Array<number>(length - items.length).fill(0)];
}

function float(call: Call, name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number" || !(value >= min && value <= max))
    call.fail("attr", name, `a number from ${min} to ${max}`, String(value));
  return value;
}

function oneOf(call: Call, name: string, value: unknown, values: readonly string[]): number {
  const index = values.indexOf(value as string);
  if (index < 0) call.fail("attr", name, `one of ${values.join(", ")}`, String(value));
  return index;
}

function attrValue(call: Call, name: string, spec: AttrSpec): number[] {
  const value = call.options[name] ?? spec.default;
  switch (spec.kind) {
    case "int":
      return [integer(call, name, value, spec.min, spec.max)];
    case "ints":
      if (!Array.isArray(value) || value.length !== spec.length)
        call.fail(
          "attr",
          name,
          `a list of ${spec.length} numbers`,
          Array.isArray(value) ? `[${value}]` : String(value),
        );
      return value.map((item) => integer(call, name, item, spec.min, spec.max));
    case "float":
      return [float(call, name, value, spec.min, spec.max)];
    case "floats":
      return listValue(call, name, value, spec.length, (each) => float(call, name, each, spec.min, spec.max));
    case "enums":
      return listValue(call, name, value, spec.length, (each) => oneOf(call, name, each, spec.values));
    case "bool":
      if (typeof value !== "boolean") call.fail("attr", name, "true or false", String(value));
      return [value ? 1 : 0];
    case "enum":
      return [oneOf(call, name, value, spec.values)];
  }
}

/** What something is that is no tensor. */
const nameOf = (value: unknown): string => (value === null ? "null" : typeof value);

/** Refuses options that are no object, and places of results that are no tensors. */
function checkForm(op: OpId, name: string, options: Options | undefined): asserts options is Options {
  const fail = (argument: string, expected: string, value: unknown): never => {
    throw new VdError({ code: "attr", where: `${name}] [${op}${argument}`, expected, got: nameOf(value) });
  };
  if (typeof options !== "object" || options === null) fail("", "an object with the call's arguments", options);
  const { out, outputs } = options as Options;
  if (out !== undefined && !isTensor(out)) fail("] [out", "a tensor", out);
  if (outputs === undefined) return;
  if (typeof outputs !== "object" || outputs === null) fail("] [outputs", "an object with places by name", outputs);
  for (const [result, place] of Object.entries(outputs as object))
    if (place !== undefined && !isTensor(place)) fail(`] [${result}`, "a tensor", place);
}

function bindInput(call: Call, name: string, spec: TensorSpec): Tensor | undefined {
  const value = call.options[name];
  if (value === undefined) {
    if (!spec.optional) call.fail("attr", name, "a tensor", "nothing");
    return undefined;
  }
  if (!isTensor(value)) call.fail("attr", name, "a tensor", nameOf(value));
  if (value.dims.length !== spec.dims.length)
    call.fail("shape", name, `${spec.dims.length} dimensions`, describe(value));
  if (!spec.dtype.includes(value.dtype)) call.fail("dtype", name, spec.dtype.join(" or "), describe(value));
  spec.dims.forEach((dim, i) => {
    const derived = typeof dim === "string" && dim in (call.definition.derived ?? {});
    if (typeof dim === "string" && !derived && !call.sizes.has(dim)) call.sizes.set(dim, value.dims[i]!);
  });
  return value;
}

function wantedSize(call: Call, dim: DimSpec): { size: number; orOne: boolean } {
  const orOne = typeof dim === "object" && "oneOr" in dim;
  return { size: evaluate(orOne ? dim.oneOr : dim, call), orOne };
}

function checkDims(call: Call, name: string, spec: TensorSpec, tensor: Tensor): void {
  const wanted = spec.dims.map((dim) => wantedSize(call, dim));
  if (wanted.every(({ size, orOne }, i) => tensor.dims[i] === size || (orOne && tensor.dims[i] === 1))) return;
  const text = wanted.map(({ size, orOne }) => (orOne && size !== 1 ? `1|${size}` : size)).join(",");
  call.fail("shape", name, `[${text}]`, describe(tensor));
}

function outputOf(call: Call, spec: TensorSpec, first: Tensor | undefined): { dims: number[]; dtype: DType } {
  const dims = spec.dims.map((dim) => wantedSize(call, dim).size);
  const dtype = first && spec.dtype.includes(first.dtype) ? first.dtype : spec.dtype[0]!;
  // An optional result without elements cannot be asked for: no place has its shape.
  if (!spec.optional && dims.some((dim) => !(dim >= 1)))
    call.fail("shape", "result", "sizes of at least 1", `[${dims.join(",")}]`);
  return { dims, dtype };
}

function costScope(call: Call): Record<string, number> {
  const scope: Record<string, number> = {};
  for (const name of Object.keys(call.definition.attrs)) scope[name] = call.attr(name, 0);
  for (const spec of Object.values(call.definition.inputs))
    for (const dim of spec.dims) if (typeof dim === "string") scope[dim] = call.dim(dim);
  for (const [name, size] of call.sizes) scope[name] = size;
  return scope;
}

function rejectUnknown(call: Call): void {
  const known = [
    ...Object.keys(call.definition.inputs),
    ...Object.keys(call.definition.attrs),
    "name",
    "out",
    "outputs",
  ];
  for (const key of Object.keys(call.options))
    if (!known.includes(key)) call.fail("attr", key, `one of ${known.join(", ")}`, "an unknown argument");
}

/** The value of an expression for a message: an option by its name, anything else as a number. */
function shownValue(call: Call, expr: Expr): string {
  const value = evaluate(expr, call);
  const spec = typeof expr === "object" && "attr" in expr ? call.definition.attrs[expr.attr] : undefined;
  return spec?.kind === "enum" || spec?.kind === "enums" ? String(spec.values[value]) : String(value);
}

/**
 * Checks a call against the op's contract and infers its results.
 *
 * @throws VdError naming row and argument
 */
export function checkCall(op: OpId, name: string, options: Options): CheckedCall {
  checkForm(op, name, options);
  const call = new Call(OPS[op], name, options);
  const { inputs, attrs, derived, outputs, rules, cost } = call.definition;
  rejectUnknown(call);
  for (const [attr, spec] of Object.entries(attrs)) call.attrs.set(attr, attrValue(call, attr, spec));
  const tensors = Object.entries(inputs).map(([input, spec]) => bindInput(call, input, spec));
  for (const [symbol, expr] of Object.entries(derived ?? {})) call.sizes.set(symbol, evaluate(expr, call));
  Object.entries(inputs).forEach(([input, spec], i) => {
    if (tensors[i]) checkDims(call, input, spec, tensors[i]);
  });
  for (const rule of rules)
    if (evaluate(rule.test, call) === 0) call.fail("attr", rule.where, rule.expected, shownValue(call, rule.got));
  return {
    attrs: [...call.attrs.values()].flat(),
    inputs: tensors,
    outputs: Object.values(outputs).map((spec) => outputOf(call, spec, tensors[0])),
    flops: cost(costScope(call)).flops,
  };
}
