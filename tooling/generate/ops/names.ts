import type { DimSpec, Expr, OpDefinition, TensorSpec } from "../../../packages/kernels-native/contract/op-kit";

/** `group_norm` → `GroupNorm`. */
export const pascal = (id: string) => id.replace(/(^|_)([a-z0-9])/g, (_, __, c: string) => c.toUpperCase());

/** `group_norm` → `groupNorm`. */
export const camel = (id: string) => pascal(id).replace(/^./, (c) => c.toLowerCase());

/** A readable form of an expression, e.g. `C+C2`. */
export function exprText(expr: Expr): string {
  if (typeof expr === "number" || typeof expr === "string") return String(expr);
  if ("attr" in expr) return expr.index > 0 ? `${expr.attr}[${expr.index}]` : expr.attr;
  if ("present" in expr) return `has(${expr.present})`;
  const symbols = { add: "+", sub: "−", mul: "·", div: "/", mod: "%", eq: "=", ge: "≥", and: "∧", or: "∨" } as const;
  const [a, b] = expr.args;
  const inner = (e: Expr) => (typeof e === "object" && "apply" in e ? `(${exprText(e)})` : exprText(e));
  return `${inner(a)}${symbols[expr.apply]}${inner(b)}`;
}

const isChoice = (text: string) => text.length > 24;

/** A readable form of a dimension, e.g. `1|B`. */
export function dimText(dim: DimSpec): string {
  if (typeof dim === "object" && "oneOr" in dim) return `1|${exprText(dim.oneOr)}`;
  const text = exprText(dim);
  return isChoice(text) ? "…" : text;
}

/** `[B,F,S,C]`. */
export const dimsText = (spec: TensorSpec) => `[${spec.dims.map(dimText).join(",")}]`;

/** The dimension names that tensors bind, in order of appearance, then the derived ones. */
export function symbolsOf(op: OpDefinition): { bound: string[]; derived: string[]; all: string[] } {
  const derived = Object.keys(op.derived ?? {});
  const bound: string[] = [];
  for (const spec of Object.values(op.inputs))
    for (const dim of spec.dims)
      if (typeof dim === "string" && !derived.includes(dim) && !bound.includes(dim)) bound.push(dim);
  return { bound, derived, all: [...bound, ...derived] };
}
