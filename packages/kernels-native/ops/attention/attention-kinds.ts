import type { CaseOf, Operand } from "../../contract/define-case";
import type attention from "./attention.op";

export type Case = CaseOf<typeof attention>;

/** Self- or cross-attention within frames: sizes, then what differs from the plain case. */
export function space(
  name: string,
  [b, f, s, l, heads, head]: [number, number, number, number, number, number],
  more: { inputs?: Case["inputs"]; attrs?: Case["attrs"]; fk?: number } = {},
): Case {
  const keys = [b, more.fk ?? f, l, heads * head];
  const inputs = { q: [b, f, s, heads * head], k: keys, v: keys, ...more.inputs };
  return { name, inputs, attrs: { heads, scale: 1 / Math.sqrt(head), ...more.attrs }, also: ["lse"] };
}

/** Attention over frames. */
export function time(
  name: string,
  [b, f, fk, s, heads, head]: [number, number, number, number, number, number],
  attrs: Case["attrs"] = {},
): Case {
  const keys = [b, fk, s, heads * head];
  const inputs = { q: [b, f, s, heads * head], k: keys, v: keys };
  return { name, inputs, attrs: { axis: "time", heads, scale: 1 / Math.sqrt(head), ...attrs }, also: ["lse"] };
}

/** Attributes of causal attention. */
export const causal = { causal: true };
/** Numbers of tokens, or of frames, by place. */
export const frames = (values: number[]): Operand => ({ dims: [values.length], dtype: "i32", fill: { values } });
/** Angles of rotation: cosines and sines by place. */
export const table = (places: number, columns: number): Operand => ({
  dims: [places, columns],
  gap: 3,
  fill: { mean: 0, deviation: 0.7 },
});
/** Both tables of a rotation. */
export const rotary = (queries: number, keys: number, columns: number) => ({
  rotaryQ: table(queries, columns),
  rotaryK: table(keys, columns),
});
/** Weights of a norm over heads. */
export const weightOf = (head: number): Operand => ({ dims: [head], fill: { mean: 1, deviation: 0.3 } });
/** Norms of queries and keys. */
export const norms = (head: number) => ({ normQ: weightOf(head), normK: weightOf(head) });
