import { NUMBER, requireFields } from "@vd/kernels-native";
import { DRIFT_EPS } from "./record";
import type { DriftMeasure } from "./types";

/** What the rows of {@link recordDrift} gave, by name. */
export type DriftReader = (name: string) => Float32Array;

/** Most pictures in which {@link DriftHistory} looks for an earlier one. */
const MAX_HISTORY = 512;

/** Standard deviation from what a norm keeps of a variance. */
const deviationOf = (inverse: number) => Math.sqrt(Math.max(0, 1 / (inverse * inverse) - DRIFT_EPS));

/** Entropy of parts that add up to 1, in bits. */
function entropyOf(parts: readonly number[]): number {
  return parts.reduce((sum, part) => (part > 0 ? sum - part * Math.log2(part) : sum), 0);
}

const meanAt = (stats: Float32Array, group = 0) => stats[2 * group]!;
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function meanDifference(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += Math.abs(a[i]! - b[i]!);
  return sum / a.length;
}

/** The small pictures of earlier measures, of which the oldest are forgotten. */
export class DriftHistory {
  private readonly pictures: Float32Array[] = [];
  private next = 0;

  /** Mean absolute difference to the nearest picture kept before; 1 where there is none. Keeps `picture`. */
  distance(picture: Float32Array): number {
    const distances = this.pictures.map((known) => meanDifference(picture, known));
    this.pictures[this.next] = picture;
    this.next = (this.next + 1) % MAX_HISTORY;
    return distances.length === 0 ? 1 : Math.min(...distances);
  }

  clear(): void {
    this.pictures.length = 0;
    this.next = 0;
  }
}

/** What a frame is compared with: how the start state looks. */
export type DriftAnchor = Pick<DriftMeasure, "mean" | "contrast" | "detail" | "colourEntropy">;

/** What tells of a collapse. */
export const MEASURED = { contrast: NUMBER, detail: NUMBER, colourEntropy: NUMBER };

/**
 * Returns how much of the liveliness of the start is gone: 1 less the smallest of what is left of contrast, detail and the entropy of
 * colours, 0 for a frame that has all of them and 1 for a single colour.
 */
export function collapseScore(
  measure: Pick<DriftMeasure, "contrast" | "detail" | "colourEntropy">,
  anchor: DriftAnchor,
): number {
  requireFields("collapseScore measure", measure, MEASURED);
  requireFields("collapseScore anchor", anchor, MEASURED);
  const left = (["contrast", "detail", "colourEntropy"] as const).map((name) =>
    anchor[name] > 0 ? Math.min(1, measure[name] / anchor[name]) : 1,
  );
  return 1 - Math.min(...left);
}

/** Puts together the measure of a frame. anchor: of the start state, or undefined for the start state itself. */
export function driftMeasure(
  frame: number,
  read: DriftReader,
  history: DriftHistory,
  anchor?: DriftAnchor,
): DriftMeasure {
  const channels = read("drift.channels");
  const colour = [0, 1, 2].map((c) => meanAt(channels, c)) as [number, number, number];
  const histogram = read("drift.histogram");
  const measure = {
    frame,
    mean: colour,
    contrast: mean([0, 1, 2].map((c) => deviationOf(channels[2 * c + 1]!))),
    detail: mean([meanAt(read("drift.across")), meanAt(read("drift.down"))]),
    temporal: deviationOf(read("drift.temporal")[1]!),
    saturation: meanAt(read("drift.saturation")),
    colourEntropy: entropyOf(Array.from({ length: histogram.length / 2 }, (_, i) => meanAt(histogram, i))),
    repetition: history.distance(read("drift.thumbnail")),
  };
  const from = anchor ?? measure;
  const colourDrift = Math.hypot(...colour.map((value, c) => value - from.mean[c]!));
  return { ...measure, colourDrift, collapse: collapseScore(measure, from) };
}
