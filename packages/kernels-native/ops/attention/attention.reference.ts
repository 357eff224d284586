import { at, type Plain, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** Queries [S,D] of one head of one sequence, with its keys and values [L,D] and what is added to the scores. */
interface Sequence {
  q: Plain;
  k: Plain;
  v: Plain;
  added(row: number, key: number): number;
}

interface Attended {
  y: Plain;
  lse: number[];
}

/** softmax(scale · q kᵀ + mask) v by its definition; rows that may see nothing give 0. */
function attend({ q, k, v, added }: Sequence, scale: number, causal: boolean): Attended {
  const [rows, head] = q.dims as [number, number];
  const keys = k.dims[0]!;
  const scores = plain([rows, keys], (row, key) => {
    if (causal && key > row) return Number.NEGATIVE_INFINITY;
    let dot = 0;
    for (let d = 0; d < head; d++) dot += q.data[row * head + d]! * k.data[key * head + d]!;
    return scale * dot + added(row, key);
  });
  const lse = Array.from({ length: rows }, (_, row) => {
    const own = scores.data.subarray(row * keys, (row + 1) * keys);
    const highest = own.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    if (highest === Number.NEGATIVE_INFINITY) return highest;
    return highest + Math.log(own.reduce((sum, score) => sum + Math.exp(score - highest), 0));
  });
  const y = plain([rows, head], (row, d) => {
    let sum = 0;
    if (lse[row] !== Number.NEGATIVE_INFINITY)
      for (let key = 0; key < keys; key++)
        sum += Math.exp(scores.data[row * keys + key]! - lse[row]!) * v.data[key * head + d]!;
    return sum;
  });
  return { y, lse };
}

/** Where a row of a sequence lies: clip, frame and token. */
type Places = readonly (readonly [b: number, f: number, s: number])[];

/** Rows of one head gathered from [B,F,S,E]. */
function gather(x: Plain, places: Places, h: number, head: number): Plain {
  return plain([places.length, head], (row, d) => at(x, ...places[row]!, h * head + d));
}

interface Group {
  queries: Places;
  keys: Places;
  added(h: number, row: number, key: number): number;
}

const range = (begin: number, end: number) => Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i);

function groups(call: PlainCall): Group[] {
  const [B, F, S] = call.operand("q").dims as [number, number, number];
  const [, Fk, L] = call.operand("k").dims as [number, number, number];
  const [mask, cuQ, cuK] = [call.optional("mask"), call.optional("cuQ"), call.optional("cuK")];
  const nothing = () => 0;
  if (cuQ && cuK)
    return range(0, cuQ.data.length - 1).map((n) => ({
      queries: range(cuQ.data[n]!, cuQ.data[n + 1]!).map((s) => [0, 0, s] as const),
      keys: range(cuK.data[n]!, cuK.data[n + 1]!).map((l) => [0, 0, l] as const),
      added: nothing,
    }));
  if (call.word("axis") === "time")
    return range(0, B).flatMap((b) =>
      range(0, S).map((s) => ({
        queries: range(0, F).map((f) => [b, f, s] as const),
        keys: range(0, Fk).map((f) => [b, f, s] as const),
        added: nothing,
      })),
    );
  return range(0, B).flatMap((b) =>
    range(0, F).map((f) => ({
      queries: range(0, S).map((s) => [b, f, s] as const),
      keys: range(0, L).map((l) => [b, Fk === 1 ? 0 : f, l] as const),
      added: mask ? (h: number, row: number, key: number) => maskAt(mask, b, h, row, key) : nothing,
    })),
  );
}

/** Flags of 0 forbid: the runner gives them as −∞ and 0. */
const maskAt = (mask: Plain, b: number, h: number, row: number, key: number) =>
  mask.data[
    (((mask.dims[0] === 1 ? 0 : b) * mask.dims[1]! + (mask.dims[1] === 1 ? 0 : h)) * mask.dims[2]! + row) *
      mask.dims[3]! +
      key
  ]!;

/** attention over space, over time and over packed sequences. */
export default function attention(call: PlainCall): PlainResults {
  const [q, k, v] = [call.operand("q"), call.operand("k"), call.operand("v")];
  const [B, F, S, E] = q.dims as [number, number, number, number];
  const heads = call.number("heads");
  const head = E / heads;
  const y: Plain = { dims: [B, F, S, E], data: new Float64Array(B * F * S * E) };
  const lse: Plain = {
    dims: [B, F, heads, S],
    data: new Float64Array(B * F * heads * S).fill(Number.NEGATIVE_INFINITY),
  };
  for (const { queries, keys, added } of groups(call))
    for (let h = 0; h < heads; h++) {
      const sequence = {
        q: gather(q, queries, h, head),
        k: gather(k, keys, h, head),
        v: gather(v, keys, h, head),
        added: (row: number, key: number) => added(h, row, key),
      };
      const result = attend(sequence, call.number("scale"), call.flag("causal"));
      queries.forEach(([b, f, s], row) => {
        y.data.set(result.y.data.subarray(row * head, (row + 1) * head), ((b * F + f) * S + s) * E + h * head);
        lse.data[((b * F + f) * heads + h) * S + s] = result.lse[row]!;
      });
    }
  return { y, lse };
}
