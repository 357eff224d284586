import type { OpId } from "@vd/kernels-native";
import type { TuningEntry } from "./table";

/** What a variant must be faster by than the device's own choice: less is noise. */
const NOISE_SHARE = 0.03;
/** Resolution of a GPU's events. */
const NOISE_US = 1;
/** Candidates come in the order of their expected times: after one that takes this many times the first one's, the rest
 *  is not worth trying. */
const GIVE_UP_RATIO = 1.5;

/** The middle one of an odd number of times, the lower of the two middle ones of an even number: what disturbs a
 *  measurement makes it longer. times: not empty. */
export function lowerMedian(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[(times.length - 1) >> 1]!;
}

/** A kernel of tiles: its kind, such as `sm90_`, and the tile, such as `m128n256`, `r128n160` (rows stay in registers) or `h128n256` (halves of
 *  a tile), and what its letters say. */
const TILE = /^(.*?)[mrh]\d+n\d+([a-z]*)$/;

/** Letters of tiles whose sums are one sum each in 8 bits; others add parts up, each in a way of its own. */
const ONE_SUM = new Set(["", "ps", "pp"]);

const isInEightBits = (op: OpId): boolean => /_q8(_|$)/.test(op);

/** A variant's kind of kernel. All tiles of one kind add in one order, but for parts of products of 8 bits. */
function familyOf(variant: string, op: OpId): string {
  const [, kind, letters] = TILE.exec(variant) ?? [];
  if (kind === undefined || letters === undefined) return variant;
  return isInEightBits(op) && !ONE_SUM.has(letters) ? variant : kind;
}

/** The candidates of an op that give the same bits as the first one, which comes first: tuning must not change results, nor may
 *  they depend on how a clip is cut into chunks. */
export function interchangeable(candidates: readonly string[], op: OpId): string[] {
  const [guess, ...others] = candidates;
  if (guess === undefined) return [];
  return [guess, ...others.filter((name) => name !== guess && familyOf(name, op) === familyOf(guess, op))];
}

/** The search for the best variant of one key: each candidate in turn, the first one once more at the end. */
export class Trial {
  /** Medians by variant, one for each pass. */
  private readonly passesUs = new Map<string, number[]>();
  private next = 0;

  /** candidates: at least two, the device's own choice first. */
  constructor(private readonly candidates: readonly string[]) {}

  private get guess(): string {
    return this.candidates[0]!;
  }

  /** The variant to measure now; undefined after the last. */
  get wanted(): string | undefined {
    return this.candidates[this.next];
  }

  /** Takes the times of the wanted variant. */
  measured(timesUs: readonly number[]): void {
    const variant = this.wanted!;
    this.note(variant, timesUs);
    const isHopeless = this.timeOf(variant) > GIVE_UP_RATIO * this.timeOf(this.guess);
    this.next = isHopeless ? this.candidates.length : this.next + 1;
  }

  /** Takes times of the first candidate from a later moment: what changed meanwhile is noise. */
  measuredAgain(timesUs: readonly number[]): void {
    this.note(this.guess, timesUs);
  }

  /** What the times say. */
  entry(): TuningEntry {
    const tried = [...this.passesUs.keys()];
    const fastest = tried.reduce((best, variant) => (this.timeOf(variant) < this.timeOf(best) ? variant : best));
    const variant = this.gainUs(fastest) > this.noiseUs() ? fastest : this.guess;
    const rounded = (timeUs: number) => Math.round(10 * timeUs) / 10;
    return { variant, timesUs: Object.fromEntries(tried.map((name) => [name, rounded(this.timeOf(name))])) };
  }

  private note(variant: string, timesUs: readonly number[]): void {
    this.passesUs.set(variant, [...(this.passesUs.get(variant) ?? []), lowerMedian(timesUs)]);
  }

  private timeOf(variant: string): number {
    return lowerMedian(this.passesUs.get(variant)!);
  }

  private gainUs(variant: string): number {
    return this.timeOf(this.guess) - this.timeOf(variant);
  }

  private noiseUs(): number {
    const passesUs = this.passesUs.get(this.guess)!;
    const drift = Math.max(...passesUs) - Math.min(...passesUs);
    return Math.max(NOISE_US, NOISE_SHARE * this.timeOf(this.guess), drift);
  }
}
