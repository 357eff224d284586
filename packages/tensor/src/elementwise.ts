import {
  ELEMENTWISE_BINARY,
  ELEMENTWISE_CONSTANTS,
  ELEMENTWISE_MAX_DEPTH,
  ELEMENTWISE_MAX_LENGTH,
  ELEMENTWISE_OPERANDS,
  ELEMENTWISE_UNARY,
  type ElementwiseInstruction,
  VdError,
} from "@vd/kernels-native";
import type { GraphOps } from "./graph-ops.generated";
import { type CallOptions, describe, isTensor, type Tensor } from "./tensor";

/** A part of an expression: a function of other parts. */
export interface ElementwiseNode {
  readonly instruction: ElementwiseInstruction;
  readonly args: readonly ElementwiseTerm[];
}

/** What an expression is made of: tensors, numbers, and functions of them. */
export type ElementwiseTerm = Tensor | number | ElementwiseNode;

type Unary = { readonly [Name in (typeof ELEMENTWISE_UNARY)[number]]: (x: ElementwiseTerm) => ElementwiseNode };
type Binary = {
  readonly [Name in (typeof ELEMENTWISE_BINARY)[number]]: (x: ElementwiseTerm, y: ElementwiseTerm) => ElementwiseNode;
};

/** The functions that expressions are written with. */
export type ElementwiseFunctions = Unary & Binary;

const unaryNode =
  (instruction: ElementwiseInstruction) =>
  (x: ElementwiseTerm): ElementwiseNode => ({ instruction, args: [x] });

const binaryNode =
  (instruction: ElementwiseInstruction) =>
  (x: ElementwiseTerm, y: ElementwiseTerm): ElementwiseNode => ({ instruction, args: [x, y] });

const FUNCTIONS = Object.fromEntries([
  ...ELEMENTWISE_UNARY.map((name) => [name, unaryNode(name)]),
  ...ELEMENTWISE_BINARY.map((name) => [name, binaryNode(name)]),
]) as ElementwiseFunctions;

const isNode = (term: ElementwiseTerm): term is ElementwiseNode =>
  typeof term === "object" && term !== null && "instruction" in term && Array.isArray(term.args);

const COMMUTES: readonly string[] = ["add", "mul", "min", "max"];

/** How many numbers the stack holds at most while `term` is computed. */
function depthOf(term: ElementwiseTerm, swapped: boolean): number {
  if (!isNode(term)) return 1;
  const depths = argsOf(term, swapped).map((arg, i) => i + depthOf(arg, swapped));
  return Math.max(...depths);
}

/** The arguments in the order of their computation; swapped: of two that commute the one that needs more room goes first. */
function argsOf({ instruction, args }: ElementwiseNode, swapped: boolean): readonly ElementwiseTerm[] {
  if (!swapped || !COMMUTES.includes(instruction)) return args;
  return [...args].sort((x, y) => depthOf(y, true) - depthOf(x, true));
}

const SPLIT = "Split the expression: the result of one call can be an operand of the next.";

function fail(where: string, expected: string, got: string, hint?: string): never {
  throw new VdError({ code: "attr", where: `${where}] [elementwise`, expected, got, hint });
}

/** Refuses what a caller without types may give in place of arguments. */
function checkArguments(g: unknown, build: unknown, options: unknown): void {
  const where = "expression";
  if (typeof options !== "object" || options === null) fail(where, "options as an object", String(options));
  if (typeof (g as Partial<GraphOps> | null | undefined)?.elementwise !== "function")
    fail(where, "a Graph to record in", kindOf(g));
  if (typeof build !== "function")
    fail(where, "a function that returns the expression, such as (e) => e.add(x, y)", kindOf(build));
}

const kindOf = (value: unknown): string => (typeof value === "object" && value !== null ? "an object" : String(value));

/** Refuses what is no part of an expression, such as an argument that is missing. */
function checkTerms(where: string, term: ElementwiseTerm): void {
  if (isNode(term)) for (const arg of term.args) checkTerms(where, arg);
  else if (!isTensor(term) && !(typeof term === "number" && Number.isFinite(term)))
    fail(where, "finite numbers, tensors and functions of them", String(term));
}

/** Every term of an expression, in postfix order. */
function postfix(term: ElementwiseTerm, swapped: boolean): ElementwiseTerm[] {
  if (!isNode(term)) return [term];
  return [...argsOf(term, swapped).flatMap((arg) => postfix(arg, swapped)), term];
}

/** The sizes that all operands together have. */
function resultDims(where: string, tensors: readonly Tensor[]): number[] {
  return [0, 1, 2, 3].map((i) => {
    const sizes = tensors.map(({ dims }) => dims[i] ?? 0);
    const size = Math.max(...sizes);
    const unfit = tensors.find(({ dims }) => dims.length !== 4 || (dims[i] !== size && dims[i] !== 1));
    if (unfit) fail(where, `operands [B,F,S,C] of sizes that are ${size} or 1 in dimension ${i}`, describe(unfit));
    return size;
  });
}

/** The different tensors of an expression; the first has the result's shape, as the op wants it. */
function orderedOperands(where: string, terms: readonly ElementwiseTerm[]): Tensor[] {
  const tensors = [...new Set(terms.filter(isTensor))];
  if (tensors.length === 0) fail(where, "a tensor in the expression", "none");
  if (tensors.length > ELEMENTWISE_OPERANDS.length)
    fail(where, `at most ${ELEMENTWISE_OPERANDS.length} different tensors`, String(tensors.length), SPLIT);
  const dims = resultDims(where, tensors);
  const whole = tensors.find((tensor) => tensor.dims.every((size, i) => size === dims[i]));
  if (!whole) fail(where, `a tensor of the result's shape [${dims.join(",")}]`, tensors.map(describe).join(" and "));
  return [whole, ...tensors.filter((tensor) => tensor !== whole)];
}

/** The program of an expression with its operands and constants. */
function assemble(where: string, expression: ElementwiseTerm) {
  checkTerms(where, expression);
  const swapped = depthOf(expression, false) > ELEMENTWISE_MAX_DEPTH;
  const depth = depthOf(expression, swapped);
  if (depth > ELEMENTWISE_MAX_DEPTH)
    fail(where, `an expression that needs at most ${ELEMENTWISE_MAX_DEPTH} numbers at a time`, String(depth), SPLIT);
  const terms = postfix(expression, swapped);
  if (terms.length > ELEMENTWISE_MAX_LENGTH)
    fail(where, `at most ${ELEMENTWISE_MAX_LENGTH} operands and functions`, String(terms.length), SPLIT);
  const operands = orderedOperands(where, terms);
  const constants = [...new Set(terms.filter((term) => typeof term === "number"))];
  if (constants.length > ELEMENTWISE_CONSTANTS.length)
    fail(where, `at most ${ELEMENTWISE_CONSTANTS.length} different numbers`, String(constants.length), SPLIT);
  const code = terms.map((term) => {
    if (typeof term === "number") return ELEMENTWISE_CONSTANTS[constants.indexOf(term)]!;
    return isTensor(term) ? ELEMENTWISE_OPERANDS[operands.indexOf(term)]! : term.instruction;
  });
  return { operands, constants, code };
}

/**
 * Records a small expression of tensors and numbers, computed for each element in one pass over memory. Tensors are
 * [B,F,S,C] with any size 1 that is broadcast; one has the result's shape. At most four tensors, four numbers and 16 terms in
 * all; an equal tensor or number counts once.
 *
 * @throws VdError `attr` for an expression beyond these limits and for arguments that are none, `shape` and `dtype` as the op
 * @example
 * ```ts
 * import { elementwise, Graph } from "@vd/tensor";
 *
 * const g = new Graph();
 * const [x, gate, branch] = [g.input("x", [1, 4, 16, 8]), g.input("gate", [1, 4, 1, 8]), g.input("branch", [1, 4, 16, 8])];
 * g.output("y", elementwise(g, (e) => e.add(x, e.mul(gate, branch))));
 * console.log(g.rows.length); // 1
 * ```
 */
export function elementwise(
  g: GraphOps,
  build: (e: ElementwiseFunctions) => ElementwiseTerm,
  options: CallOptions = {},
): Tensor {
  checkArguments(g, build, options);
  const { operands, constants, code } = assemble(options.name ?? "expression", build(FUNCTIONS));
  const [a, b, c, d] = operands as [Tensor, Tensor?, Tensor?, Tensor?];
  return g.elementwise({ ...options, a, b, c, d, code, constants });
}
