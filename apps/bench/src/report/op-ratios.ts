import type { BenchRow } from "../measure/report";

/** A row that has a time. */
export type TimedRow = BenchRow & { medianUs: number; madUs: number };

/** Whether a row has a time. */
export const isTimed = (row: BenchRow): row is TimedRow => row.medianUs !== undefined;

/** Whether a row is one of our contenders. */
export const isOurs = ({ contender }: BenchRow): boolean => contender.startsWith("ours");

/** An op that a peer has too. */
export interface OpRatio {
  /** The op's case, and how the peer ran it where that is not call by call. */
  label: string;
  /** The peer's time over that of the faster of ours. */
  ratio: number;
}

/** Behind the name of an op that the peer replays as a graph. */
const GRAPH = ", graph";
/** How many ops stand at either end. */
const NUM_ENDS = 10;

/** For each op that a peer has too: how many times longer the peer takes. */
export function opRatios(rows: readonly BenchRow[]): OpRatio[] {
  // The sequence that an op fuses is no peer.
  const ops = rows
    .filter(({ suite, contender }) => suite === "ops" && !contender.startsWith("unfused"))
    .filter(isTimed);
  return ops
    .filter((row) => !isOurs(row))
    .flatMap((peer) => {
      const ours = ops.filter((row) => row.name === peer.name && isOurs(row));
      if (ours.length === 0) return [];
      const ratio = peer.medianUs / Math.min(...ours.map(({ medianUs }) => medianUs));
      return [{ label: `${peer.name}${peer.contender === "pytorch" ? "" : GRAPH}`, ratio }];
    });
}

/** Of each op the ratio to the faster of the peer's ways to run it. */
function hardestOf(ratios: readonly OpRatio[]): OpRatio[] {
  const hardest = new Map<string, OpRatio>();
  for (const each of ratios) {
    const name = each.label.endsWith(GRAPH) ? each.label.slice(0, -GRAPH.length) : each.label;
    const before = hardest.get(name);
    if (before === undefined || each.ratio < before.ratio) hardest.set(name, each);
  }
  return [...hardest.values()];
}

/** The ops of the largest and of the smallest ratios, ten of each at most, the furthest first; none stands at both ends, and none
 *  twice for two ways of the peer to run it. */
export function endsOf(ratios: readonly OpRatio[]): {
  best: OpRatio[];
  worst: OpRatio[];
  /** Whether they are all ops. */
  isWhole: boolean;
} {
  const sorted = hardestOf(ratios).toSorted((a, b) => b.ratio - a.ratio);
  const numWorst = Math.min(NUM_ENDS, Math.floor(sorted.length / 2));
  const numBest = Math.min(NUM_ENDS, sorted.length - numWorst);
  return {
    isWhole: numBest + numWorst === sorted.length,
    best: sorted.slice(0, numBest),
    worst: sorted.slice(sorted.length - numWorst).reverse(),
  };
}

/** The headline of results: how many times faster than the first peer a whole run is, or undefined where none was run. */
export function headline(rows: readonly BenchRow[]): string | undefined {
  const runs = rows.filter(({ suite }) => suite === "e2e").filter(isTimed);
  const longest = runs.filter(isOurs).sort((a, b) => b.medianUs - a.medianUs)[0];
  if (longest === undefined) return undefined;
  const peers = runs.filter((row) => row.name === longest.name && !isOurs(row));
  if (peers.length === 0) return undefined;
  const times = peers.map((peer) => `${(peer.medianUs / longest.medianUs).toFixed(1)}× ${peer.contender}`);
  return `${times.join(", ")} – ${longest.name}, picture file to frames in ${(longest.medianUs / 1e6).toFixed(2)} s`;
}
