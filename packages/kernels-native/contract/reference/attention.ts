import { at, type Plain, type PlainCall, plain } from "./plain";

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
