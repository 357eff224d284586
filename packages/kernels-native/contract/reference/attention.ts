import { at, dot, mixed, type Plain, type PlainCall, plain } from "./plain";

/** Where a row of a sequence lies: clip, frame and token. */
export type Places = readonly (readonly [b: number, f: number, s: number])[];

/** Rows of one head gathered from [B,F,S,E]. */
export function gather(x: Plain, places: Places, h: number, head: number): Plain {
  const [, F, S, E] = x.dims as [number, number, number, number];
  return plain([places.length, head], (row, d) => {
    const [b, f, s] = places[row]!;
    return x.data[((b * F + f) * S + s) * E + h * head + d]!;
  });
}

/** Queries and keys that see each other, of all heads. */
export interface Sequence {
  clip: number;
  /** Places along the axis. */
  queries: readonly number[];
  keys: readonly number[];
  queryPlaces: Places;
  keyPlaces: Places;
}

const range = (begin: number, end: number) => Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i);

/** The sequences of a call of attention: over space, over time, packed. */
export function sequencesOf(call: PlainCall): Sequence[] {
  const [B, F, S] = call.operand("q").dims as [number, number, number];
  const [, Fk, L] = call.operand("k").dims as [number, number, number];
  const time = call.word("axis") === "time";
  const [cuQ, cuK] = [call.optional("cuQ"), call.optional("cuK")];
  const packed =
    cuQ && cuK
      ? range(0, cuQ.data.length - 1).map((n) => ({
          queries: range(cuQ.data[n]!, cuQ.data[n + 1]!),
          keys: range(cuK.data[n]!, cuK.data[n + 1]!),
        }))
      : [{ queries: range(0, time ? F : S), keys: range(0, time ? Fk : L) }];
  return range(0, B).flatMap((clip) =>
    range(0, time ? S : F).flatMap((across) =>
      packed.map(({ queries, keys }) => ({
        ...{ clip, queries, keys },
        queryPlaces: queries.map((i) => (time ? ([clip, i, across] as const) : ([clip, across, i] as const))),
        keyPlaces: keys.map((i) => (time ? ([clip, i, across] as const) : ([clip, Fk === 1 ? 0 : across, i] as const))),
      })),
    ),
  );
}

/** Frame, row and column of element `i` of a sequence. */
function onGrid(i: number, [rows, columns]: readonly number[]): readonly number[] {
  return [Math.floor(i / (rows! * columns!)), Math.floor(i / columns!) % rows!, i % columns!];
}

/** Returns whether the causal limit and the window let a query see a key, by their places in the sequence. */
function sightOf(call: PlainCall): (row: number, key: number) => boolean {
  const [causal, grid, window] = [call.flag("causal"), call.list("grid"), call.list("window")];
  const isWindowed = window.some((size) => size !== 0);
  return (row, key) => {
    if (causal && key > row) return false;
    if (!isWindowed) return true;
    const there = onGrid(key, grid);
    return onGrid(row, grid).every((place, i) => window[i] === 0 || Math.abs(place - there[i]!) < window[i]!);
  };
}

/** Returns what is added to the score of a pair of one head, by its places in the sequence: −∞ where the query may not see the
 *  key. Flags of 0 in a mask are −∞ already, others 0. */
export function addedTo(
  call: PlainCall,
  { clip, queries, keys }: Sequence,
  h: number,
): (row: number, key: number) => number {
  const [sees, mask] = [sightOf(call), call.optional("mask")];
  return (row, key) => {
    if (!sees(row, key)) return Number.NEGATIVE_INFINITY;
    return mask ? at(mask, clip, h, queries[row]!, keys[key]!) : 0;
  };
}

/** softmax(scale · q kᵀ) v of one head of one sequence. */
function attend(q: Plain, k: Plain, v: Plain, scale: number): Plain {
  const [[rows, head], keys] = [q.dims as [number, number], k.dims[0]!];
  const scores = plain([rows, keys], (row, key) => scale * dot(q.data, row * head, k.data, key * head, head));
  const shares = plain([rows, keys], () => 0);
  for (let row = 0; row < rows; row++) {
    const own = scores.data.subarray(row * keys, (row + 1) * keys);
    const highest = own.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    const sum = own.reduce((total, score) => total + Math.exp(score - highest), 0);
    own.forEach((score, key) => {
      shares.data[row * keys + key] = Math.exp(score - highest) / sum;
    });
  }
  return mixed(shares, v);
}

/** Attention of what float8 codes stand for, in numbers. */
export function attentionOfCodes(call: PlainCall): Plain {
  const heads = call.number("heads");
  const [q, k, v] = [call.operand("q"), call.operand("k"), call.operand("v")];
  const scaleOf = (name: string) => call.operand(name).data[0]!;
  const scale = call.number("scale") * scaleOf("qScale") * scaleOf("kScale");
  const [, F, S, E] = q.dims as [number, number, number, number];
  const head = E / heads;
  const y: Plain = { dims: q.dims, data: new Float64Array(q.data.length) };
  for (const { queryPlaces, keyPlaces } of sequencesOf(call))
    for (let h = 0; h < heads; h++) {
      const of = (x: Plain, places: typeof keyPlaces) => gather(x, places, h, head);
      const result = attend(of(q, queryPlaces), of(k, keyPlaces), of(v, keyPlaces), scale);
      queryPlaces.forEach(([b, f, s], row) => {
        const to = ((b * F + f) * S + s) * E + h * head;
        for (let d = 0; d < head; d++) y.data[to + d] = result.data[row * head + d]! * scaleOf("vScale");
      });
    }
  return y;
}
