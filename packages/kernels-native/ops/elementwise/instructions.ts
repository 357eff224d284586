import type { Rule } from "../../contract/define-op";
import { add, and, attr, type Expr, eq, ge, or, present, sub } from "../../contract/expr";

/** Instructions that put an operand of the call on the stack. */
export const ELEMENTWISE_OPERANDS = ["a", "b", "c", "d"] as const;

/** Instructions that put a constant of the call on the stack. */
export const ELEMENTWISE_CONSTANTS = ["k0", "k1", "k2", "k3"] as const;

/** Instructions that replace the number on top of the stack by a function of it. */
export const ELEMENTWISE_UNARY = [
  "neg",
  "abs",
  "square",
  "sqrt",
  "rsqrt",
  "exp",
  "log",
  "sigmoid",
  "tanh",
  "relu",
  "silu",
  "gelu",
  "gelu_tanh",
  "quick_gelu",
] as const;

/** Instructions that replace the two numbers on top of the stack, the second operand uppermost, by a function of both. */
export const ELEMENTWISE_BINARY = ["add", "sub", "mul", "div", "min", "max"] as const;

/** Every instruction; the order is the numbering, and `end` is what stands behind a program's last one. */
export const ELEMENTWISE_INSTRUCTIONS = [
  "end",
  ...ELEMENTWISE_OPERANDS,
  ...ELEMENTWISE_CONSTANTS,
  ...ELEMENTWISE_UNARY,
  ...ELEMENTWISE_BINARY,
] as const;

/** An instruction of `elementwise`. */
export type ElementwiseInstruction = (typeof ELEMENTWISE_INSTRUCTIONS)[number];

/** The longest program, and the most numbers that it may have on the stack at a time. */
export const ELEMENTWISE_MAX_LENGTH = 16;
export const ELEMENTWISE_MAX_DEPTH = 4;

const numberOf = (instruction: ElementwiseInstruction) => ELEMENTWISE_INSTRUCTIONS.indexOf(instruction);
const code = (i: number) => attr("code", i);
const isUnaryOrBinary = (i: number) => ge(code(i), numberOf(ELEMENTWISE_UNARY[0]));
/** How many numbers an instruction takes from the stack. */
const taken = (i: number) => add(isUnaryOrBinary(i), ge(code(i), numberOf(ELEMENTWISE_BINARY[0])));
const isThere = (i: number) => ge(code(i), 1);
/** Name of the number of values on the stack behind instruction `i`, a derived size. */
const depth = (i: number): Expr => (i < 0 ? 0 : `depth${i}`);

const places = Array.from({ length: ELEMENTWISE_MAX_LENGTH }, (_, i) => i);
const sumOf = (term: (i: number) => Expr) => places.map(term).reduce((sum, each) => add(sum, each));

/** Sizes that follow from the program: the stack's depth behind every instruction, and how many of them compute. */
export const elementwiseSizes: Readonly<Record<string, Expr>> = {
  ...Object.fromEntries(places.map((i) => [`depth${i}`, sub(add(depth(i - 1), isThere(i)), taken(i))])),
  computing: sumOf(isUnaryOrBinary),
};

/** What makes a list of instructions a program. */
export const elementwiseRules: readonly Rule[] = [
  ...places.map((i) => ({
    where: "code",
    test: and(ge(depth(i - 1), taken(i)), ge(ELEMENTWISE_MAX_DEPTH, depth(i))),
    expected: `every instruction to find what it takes on a stack of at most ${ELEMENTWISE_MAX_DEPTH} numbers`,
    got: code(i),
  })),
  ...places.slice(1).map((i) => ({
    where: "code",
    test: or(isThere(i - 1), eq(code(i), 0)),
    expected: "nothing behind the end",
    got: code(i),
  })),
  {
    where: "code",
    test: eq(depth(ELEMENTWISE_MAX_LENGTH - 1), 1),
    expected: "a program that leaves one number on the stack",
    got: depth(ELEMENTWISE_MAX_LENGTH - 1),
  },
  ...ELEMENTWISE_OPERANDS.slice(1).map((name) => ({
    where: name,
    test: or(
      present(name),
      eq(
        sumOf((i) => eq(code(i), numberOf(name))),
        0,
      ),
    ),
    expected: "a tensor, as the program reads it",
    got: present(name),
  })),
];
