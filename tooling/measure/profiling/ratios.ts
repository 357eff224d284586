/** How much longer something takes with a change than without, from pairs that were measured next to each other. */
export interface RatioSummary {
  offMs: number;
  onMs: number;
  /** Median of the pairs' ratios: a drift of the machine meets both members of a pair. */
  ratio: number;
  lowerQuartile: number;
  upperQuartile: number;
  numPairs: number;
}

/** The value below which the share `part` of sorted numbers lies, between neighbours in proportion. */
function quantile(sorted: readonly number[], part: number): number {
  const at = (sorted.length - 1) * part;
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return low + (high - low) * (at - Math.floor(at));
}

const ascending = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);

/** Medians of both and the ratios of pairs. off, on: ms, the same count; the i-th of both were measured next to each
 *  other. Throws RangeError for none or for counts that differ. */
export function summarizePairs(off: readonly number[], on: readonly number[]): RatioSummary {
  if (off.length === 0 || off.length !== on.length) throw new RangeError(`${off.length} times beside ${on.length}`);
  const ratios = ascending(on.map((ms, i) => ms / off[i]!));
  return {
    offMs: quantile(ascending(off), 0.5),
    onMs: quantile(ascending(on), 0.5),
    ratio: quantile(ratios, 0.5),
    lowerQuartile: quantile(ratios, 0.25),
    upperQuartile: quantile(ratios, 0.75),
    numPairs: ratios.length,
  };
}

/** Pairs below which a median says nothing about a few percent. */
const LEAST_PAIRS = 9;

/** Whether the median pair exceeds `limit`; the number of pairs was fixed before the first was measured. Throws RangeError
 *  for fewer than nine pairs. */
export function exceeds({ ratio, numPairs }: RatioSummary, limit: number): boolean {
  if (numPairs < LEAST_PAIRS)
    throw new RangeError(`expected ${LEAST_PAIRS} pairs or more for a verdict, got ${numPairs}`);
  return ratio > limit;
}
