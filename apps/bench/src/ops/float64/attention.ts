import { addedTo, type Plain, plainCall } from "@vd/kernels-native/references";
import { chosen, type Numbers, parts, placeOf, wholeOf } from "./numbers";
import type { FullCall, SampledCall } from "./sampled-call";

/** Heads of sequences that are looked at, and most queries of each. */
const HEADS = 2;
const QUERIES = 32;
/** About as many products are computed. */
const PRODUCTS = 2 ** 27;

/** The rows of one head at places [b, f, s] of a tensor [B,F,S,E]. */
function headOf(numbers: Numbers, places: readonly (readonly number[])[], first: number, head: number): Plain {
  const data = new Float64Array(places.length * head);
  places.forEach((place, row) => {
    numbers.copy(placeOf([...place, first], numbers.dims), data, row * head, head);
  });
  return { dims: [1, 1, places.length, head], data };
}

/** The place of the row with the largest number, of rows of `head`. */
function rowOfLargest({ data }: Plain, head: number): number {
  let [found, most] = [0, -1];
  for (let i = 0; i < data.length; i++) if (Math.abs(data[i]!) > most) [found, most] = [i, Math.abs(data[i]!)];
  return Math.floor(found / head);
}

/** Where a sequence lies: over the tokens of a frame or over the frames at a token. */
interface Line {
  /** Place of a query in q by its place in the sequence. */
  query(i: number): number[];
  key(i: number): number[];
  numQueries: number;
  numKeys: number;
  clip: number;
}

/** The line of keys and queries with number `n`. */
function lineOf({ attrs, operands }: FullCall, n: number): Line {
  const [, F, S] = operands.q!.dims as [number, number, number];
  const [, Fk, L] = operands.k!.dims as [number, number, number];
  if (attrs.axis === "time") {
    const [clip, s] = [Math.floor(n / S), n % S];
    const at = (i: number) => [clip, i, s];
    return { query: at, key: at, numQueries: F, numKeys: Fk, clip };
  }
  const [clip, f] = [Math.floor(n / F), n % F];
  const [query, key] = [(i: number) => [clip, f, i], (i: number) => [clip, Fk === 1 ? 0 : f, i]];
  return { query, key, numQueries: S, numKeys: L, clip };
}

/** What is added to the scores of some queries of a line, [1,1,queries,keys]: −∞ where the contract hides a key. Undefined where nothing
 *  is. */
function addedScores(
  { attrs, operands }: FullCall,
  line: Line,
  h: number,
  queries: readonly number[],
): Plain | undefined {
  const { mask } = operands;
  const isWindowed = (attrs.window as readonly number[] | undefined)?.some((size) => size !== 0);
  if (!mask && !isWindowed && attrs.causal !== true) return undefined;
  const sequence = { clip: line.clip, queries: [], keys: [], queryPlaces: [], keyPlaces: [] };
  const seen = addedTo(plainCall({}, attrs), sequence, h);
  const data = new Float64Array(queries.length * line.numKeys);
  queries.forEach((query, row) => {
    for (let key = 0; key < line.numKeys; key++)
      data[row * line.numKeys + key] = seen(query, key) + (mask ? mask.at(line.clip, h, query, key) : 0);
  });
  return { dims: [1, 1, queries.length, line.numKeys], data };
}

/** Attention of any kind at some queries of some heads: each a call of one head with the sequence's keys. Packed sequences are not
 *  looked at. */
export function sampleAttention(call: FullCall): SampledCall[] {
  const { label, attrs, operands, resultDims } = call;
  if (operands.cuQ) return [];
  const heads = attrs.heads as number;
  const [B, F, S, E] = resultDims as [number, number, number, number];
  const head = E / heads;
  const lines = chosen(`${label} heads`, HEADS, B * (attrs.axis === "time" ? S : F) * heads);
  return lines.map((place) => {
    const [n, h] = [Math.floor(place / heads), place % heads];
    const line = lineOf(call, n);
    const most = Math.floor(PRODUCTS / (2 * HEADS * line.numKeys * head));
    const own = chosen(`${label} queries ${place}`, Math.max(1, Math.min(QUERIES, most)), line.numQueries);
    const rows = (numbers: Numbers, at: readonly number[][]) => headOf(numbers, at, h * head, head);
    const all = Array.from({ length: line.numQueries }, (_, i) => i);
    // Scales of 8 bits are those of all queries: the largest is among the small call's.
    const queries =
      attrs.scores === undefined ? own : [...own, rowOfLargest(rows(operands.q!, all.map(line.query)), head)];
    const keys = Array.from({ length: line.numKeys }, (_, i) => line.key(i));
    const added = addedScores(call, line, h, queries);
    const perRow = (numbers: Numbers | undefined, at?: readonly number[]) =>
      numbers &&
      (at
        ? parts(
            numbers,
            at.map((i) => [i]),
          )
        : wholeOf(numbers));
    const scaleOf = (name: string) => operands[name] && wholeOf(operands[name]);
    const small = {
      ...{ q: rows(operands.q!, queries.map(line.query)), k: rows(operands.k!, keys), v: rows(operands.v!, keys) },
      ...{ normQ: perRow(operands.normQ), normK: perRow(operands.normK) },
      ...{ rotaryQ: perRow(operands.rotaryQ, queries), rotaryK: perRow(operands.rotaryK) },
      ...{ qScale: scaleOf("qScale"), kScale: scaleOf("kScale"), vScale: scaleOf("vScale") },
      yScale: scaleOf("yScale"),
      mask: added,
    };
    const present = Object.entries(small).filter((entry): entry is [string, Plain] => entry[1] !== undefined);
    const elements = own.flatMap((query, row) => {
      const first = placeOf([...line.query(query), h * head], resultDims);
      return Array.from({ length: head }, (_, d) => ({ from: row * head + d, to: first + d }));
    });
    const plainly = { heads: 1, axis: "space", causal: false, window: [0, 0, 0] };
    return { operands: Object.fromEntries(present), attrs: plainly, elements };
  });
}
