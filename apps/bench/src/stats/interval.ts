import { studentQuantile } from "./student";

/** What is known of a ratio, as natural logarithms. */
export interface Interval {
  estimate: number;
  low: number;
  high: number;
}

/** Most values of a side that are paired: more say nothing new and take quadratic time. */
const MOST_VALUES = 200;

/** Numbers of ways, by their count of pairs in which an element of the second sample is the smaller one, to arrange samples
 *  of n and m: the coefficients up to half of all pairs of ∏ (1 − q^(n+i)) / (1 − q^i), i = 1 … m. Source: Mann and Whitney,
 *  On a test of whether one of two random variables is stochastically larger than the other, 1947. */
function countsOfPairs(n: number, m: number): Float64Array {
  const counts = new Float64Array(((n * m) >> 1) + 1);
  counts[0] = 1;
  for (let i = 1; i <= m; i++) {
    for (let u = counts.length - 1; u >= n + i; u--) counts[u]! -= counts[u - n - i]!;
    for (let u = i; u < counts.length; u++) counts[u]! += counts[u - i]!;
  }
  return counts;
}

const cuts = new Map<string, number>();

/** {@link cutOf}, computed once for the same arguments: the rows of a file have mostly as many samples. */
function knownCutOf(n: number, m: number, error: number): number {
  const key = [n, m, error].join();
  const cut = cuts.get(key) ?? cutOf(n, m, error);
  cuts.set(key, cut);
  return cut;
}

/** Places from either end of the sorted differences where an interval of this error ends; 0 if the samples are too few. */
function cutOf(n: number, m: number, error: number): number {
  let arrangements = 1;
  for (let i = 1; i <= m; i++) arrangements *= (n + i) / i;
  let below = 0;
  for (const [cut, count] of countsOfPairs(n, m).entries()) {
    below += count / arrangements;
    if (below > error / 2) return cut;
  }
  return (n * m) >> 1;
}

/** Every k-th value, so that `most` are left at most. */
export function thinned(values: readonly number[], most: number): readonly number[] {
  const step = Math.ceil(values.length / most);
  return step === 1 ? values : values.filter((_, i) => i % step === 0);
}

/** By how much `after` exceeds `before`, whatever the distribution: the median of all pairs' differences, and the interval that
 *  misses the true shift with a probability of `error` at most if samples are independent. undefined: too few samples for any
 *  such interval. Source: Hodges and Lehmann, Estimates of location based on rank tests, 1963. */
export function shiftOfSamples(
  before: readonly number[],
  after: readonly number[],
  error: number,
): Interval | undefined {
  const [a, b] = [thinned(before, MOST_VALUES), thinned(after, MOST_VALUES)];
  const cut = knownCutOf(a.length, b.length, error);
  if (cut === 0) return undefined;
  const differences = Float64Array.from(a.flatMap((x) => b.map((y) => y - x))).sort();
  const last = differences.length - 1;
  const estimate = (differences[last >> 1]! + differences[(last + 1) >> 1]!) / 2;
  return { estimate, low: differences[cut - 1]!, high: differences[last + 1 - cut]! };
}

const quantiles = new Map<string, number>();

/** {@link studentQuantile}, computed once for the same arguments. */
function knownQuantile(part: number, freedom: number): number {
  const key = [part, freedom].join();
  const quantile = quantiles.get(key) ?? studentQuantile(part, freedom);
  quantiles.set(key, quantile);
  return quantile;
}

/** Degrees of freedom below which a spread means nothing. */
const LEAST_FREEDOM = 2;

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const squares = (values: readonly number[]) => values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0);

/** By how much the mean of `after` exceeds that of `before`, with the spread of the values, which both share: runs' medians, or
 *  samples too few for {@link shiftOfSamples}. undefined: fewer than four values in all. Source: Student's t for two samples of equal
 *  variance. */
export function shiftOfMeans(before: readonly number[], after: readonly number[], error: number): Interval | undefined {
  const freedom = before.length + after.length - 2;
  if (freedom < LEAST_FREEDOM) return undefined;
  const variance = (squares(before) + squares(after)) / freedom;
  const estimate = mean(after) - mean(before);
  const reach = knownQuantile(1 - error / 2, freedom) * Math.sqrt(variance * (1 / before.length + 1 / after.length));
  return { estimate, low: estimate - reach, high: estimate + reach };
}
