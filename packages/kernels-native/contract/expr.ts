/** Arithmetic over dimensions and attributes as plain data, so that TypeScript and C++ infer and check the same shapes.
 *  A string is a dimension, `attr(...)` an attribute (an enum counts by its position, a boolean is 0 or 1). */
export type Expr =
  | number
  | string
  | { attr: string; index: number }
  | { present: string }
  | { apply: Operator; args: readonly [Expr, Expr] };

/** Binary operators on integers; comparisons give 0 or 1, `div` rounds down. */
export const OPERATORS = ["add", "sub", "mul", "div", "mod", "eq", "ge", "and", "or"] as const;

/** A name of {@link OPERATORS}. */
export type Operator = (typeof OPERATORS)[number];

const binary =
  (apply: Operator) =>
  (a: Expr, b: Expr): Expr => ({ apply, args: [a, b] });

export const add = binary("add");
export const sub = binary("sub");
export const mul = binary("mul");
export const div = binary("div");
export const mod = binary("mod");
export const eq = binary("eq");
export const ge = binary("ge");
export const and = binary("and");
export const or = binary("or");

/** The attribute `name`, or its element `index` where it is a list. */
export const attr = (name: string, index = 0): Expr => ({ attr: name, index });

/** 1 if the optional tensor `name` is given. */
export const present = (name: string): Expr => ({ present: name });

/** `condition ? a : b` for a condition of 0 or 1. */
export const choose = (condition: Expr, a: Expr, b: Expr): Expr => add(mul(condition, a), mul(sub(1, condition), b));

/** Output size of a convolution along one axis: (size + padding − kernel) / stride + 1. */
export const convOut = (size: Expr, kernel: Expr, stride: Expr, padding: Expr): Expr =>
  add(div(sub(add(size, padding), kernel), stride), 1);

/** What expressions are evaluated over. */
export interface ExprScope {
  dim(name: string): number;
  attr(name: string, index: number): number;
  present(name: string): boolean;
}

const COMPUTE: Record<Operator, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => (b === 0 ? 0 : Math.floor(a / b)),
  mod: (a, b) => (b === 0 ? 0 : a - b * Math.floor(a / b)),
  eq: (a, b) => (a === b ? 1 : 0),
  ge: (a, b) => (a >= b ? 1 : 0),
  and: (a, b) => (a !== 0 && b !== 0 ? 1 : 0),
  or: (a, b) => (a !== 0 || b !== 0 ? 1 : 0),
};

/** The value of `expr`; division and remainder by zero give 0 (rules reject such attributes on their own). */
export function evaluate(expr: Expr, scope: ExprScope): number {
  if (typeof expr === "number") return expr;
  if (typeof expr === "string") return scope.dim(expr);
  if ("attr" in expr) return scope.attr(expr.attr, expr.index);
  if ("present" in expr) return scope.present(expr.present) ? 1 : 0;
  return COMPUTE[expr.apply](evaluate(expr.args[0], scope), evaluate(expr.args[1], scope));
}
