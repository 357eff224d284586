import {
  addedTo,
  at,
  dot,
  gather,
  mixed,
  type Plain,
  type PlainCall,
  type PlainResults,
  plain,
  sequencesOf,
} from "../../contract/reference";

/** Queries [S,D] of one head of one sequence, with its keys and values [L,D]. */
interface Head {
  q: Plain;
  k: Plain;
  v: Plain;
  /** What is added to the score of a pair by its places in the sequence: −∞ where the query may not see the key. */
  added(row: number, key: number): number;
}

interface Attended {
  y: Plain;
  lse: number[];
}

/** softmax(scale · q kᵀ + mask) v by its definition; rows that may see nothing give 0. */
function attend({ q, k, v, added }: Head, scale: number): Attended {
  const [rows, head] = q.dims as [number, number];
  const keys = k.dims[0]!;
  const scores = plain([rows, keys], (row, key) => {
    const more = added(row, key);
    if (more === Number.NEGATIVE_INFINITY) return more;
    return scale * dot(q.data, row * head, k.data, key * head, head) + more;
  });
  const lse = Array.from({ length: rows }, (_, row) => {
    const own = scores.data.subarray(row * keys, (row + 1) * keys);
    const highest = own.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    // NaN for NaN and for +∞, whose difference from itself is NaN.
    if (highest === Number.NEGATIVE_INFINITY) return highest;
    return highest + Math.log(own.reduce((sum, score) => sum + Math.exp(score - highest), 0));
  });
  const shares = plain([rows, keys], (row, key) =>
    lse[row] === Number.NEGATIVE_INFINITY ? 0 : Math.exp(scores.data[row * keys + key]! - lse[row]!),
  );
  return { y: mixed(shares, v), lse };
}

/** Heads divided by the root of their mean square and multiplied by `weight`. x: [B,F,S,E]. */
function normalised(x: Plain, weight: Plain | undefined, heads: number, eps: number): Plain {
  if (!weight) return x;
  const head = x.dims[3]! / heads;
  // Heads of packed tokens lie one after the other.
  const roots = Float64Array.from({ length: x.data.length / head }, (_, i) =>
    Math.sqrt(dot(x.data, i * head, x.data, i * head, head) / head + eps),
  );
  const data = x.data.map((value, i) => (value / roots[Math.floor(i / head)]!) * weight.data[i % head]!);
  return { dims: x.dims, data };
}

/** Pairs of a head's channels turned as complex numbers. table: cosine and sine of each pair's angle per place. */
function rotated(x: Plain, table: Plain | undefined, call: PlainCall): Plain {
  if (!table) return x;
  const head = x.dims[3]! / call.number("heads");
  const numPairs = table.dims[1]! / 2;
  const adjacent = call.word("pairs") === "adjacent";
  return plain(x.dims, (b, f, s, e) => {
    const channel = e! % head;
    const own = at(x, b!, f!, s!, e!);
    if (channel >= 2 * numPairs) return own;
    const pair = adjacent ? channel >> 1 : channel % numPairs;
    const isImaginary = adjacent ? channel % 2 === 1 : channel >= numPairs;
    const offset = (adjacent ? 1 : numPairs) * (isImaginary ? -1 : 1);
    const other = at(x, b!, f!, s!, e! + offset);
    const place = call.word("axis") === "time" ? f! : s!;
    const [cosine, sine] = [at(table, place, 2 * pair), at(table, place, 2 * pair + 1)];
    return own * cosine + (isImaginary ? other : -other) * sine;
  });
}

/** attention over space, over time and over packed sequences. */
export default function attention(call: PlainCall): PlainResults {
  const heads = call.number("heads");
  const [plainQ, plainK, v] = [call.operand("q"), call.operand("k"), call.operand("v")];
  const q = rotated(
    normalised(plainQ, call.optional("normQ"), heads, call.number("normEps")),
    call.optional("rotaryQ"),
    call,
  );
  const k = rotated(
    normalised(plainK, call.optional("normK"), heads, call.number("normEps")),
    call.optional("rotaryK"),
    call,
  );
  const [B, F, S, E] = q.dims as [number, number, number, number];
  const head = E / heads;
  const y: Plain = { dims: [B, F, S, E], data: new Float64Array(B * F * S * E) };
  const lse: Plain = {
    dims: [B, F, heads, S],
    data: new Float64Array(B * F * heads * S).fill(Number.NEGATIVE_INFINITY),
  };
  for (const sequence of sequencesOf(call))
    for (let h = 0; h < heads; h++) {
      const { queryPlaces, keyPlaces } = sequence;
      const own = {
        q: gather(q, queryPlaces, h, head),
        k: gather(k, keyPlaces, h, head),
        v: gather(v, keyPlaces, h, head),
        added: addedTo(call, sequence, h),
      };
      const result = attend(own, call.number("scale"));
      queryPlaces.forEach(([b, f, s], row) => {
        y.data.set(result.y.data.subarray(row * head, (row + 1) * head), ((b * F + f) * S + s) * E + h * head);
        lse.data[((b * F + f) * heads + h) * S + s] = result.lse[row]!;
      });
    }
  return { y, lse };
}
