import type { Sampler } from "@vd/sampling";

/** How one call of the denoiser is made. */
export type CallKind =
  /** Both rows with guidance, else the only one. */
  | "full"
  /** The conditional row of two. */
  | "unguided"
  /** As `full`, with the inner blocks' features of an earlier call. */
  | "full, reusing"
  /** As `unguided`, with the inner blocks' features of an earlier call. */
  | "unguided, reusing"
  /** Not at all: the step is taken with the last call's data prediction. */
  | "skipped";

/** What saves work between the calls of a generation; each saves nothing by default. */
export interface CallSavings {
  /** Guidance only at noise levels from the first to the second, both included. Source: https://arxiv.org/abs/2404.07724. */
  guided: readonly [min: number, max: number];
  /** Calls from one that computes the inner blocks to the next; 1 for every one. Source: https://arxiv.org/abs/2312.00858. */
  featureInterval: number;
  /** Relative change of the denoiser's input, added up since the last call that was made, from which on a call is made again; 0 for
   *  all of them. After https://arxiv.org/abs/2411.19108. */
  changeThreshold: number;
}

/** Whether anything is saved at all. rows: 2 where there is guidance. */
export function savesCalls({ guided, featureInterval, changeThreshold }: CallSavings, rows: 1 | 2): boolean {
  const [min, max] = guided;
  return featureInterval > 1 || changeThreshold > 0 || (rows === 2 && (min > 0 || max < Number.POSITIVE_INFINITY));
}

/** Calls that are skipped one after the other at most: an error that nobody measures grows with each. */
const MOST_SKIPPED = 3;

/** Decides how each call of a generation is made: by noise levels, by the calls before it, and by how much the denoiser's input has
 *  changed. The same changes lead to the same decisions. */
export class CallPlanner {
  private numSkipped = 0;
  private change = 0;
  /** Calls since the inner blocks' features were computed; infinite before the first. */
  private featureAge = Number.POSITIVE_INFINITY;
  /** Of the call that was made last. */
  private wasGuided: boolean | undefined;

  constructor(
    private readonly sampler: Pick<Sampler, "sigmas" | "numModelCalls">,
    private readonly rows: 1 | 2,
    private readonly savings: CallSavings,
  ) {}

  /** Says how the next call is made; asked once for each call in turn. */
  next(call: number): CallKind {
    const isGuided = this.isGuided(call);
    if (this.skips(call, isGuided)) {
      this.numSkipped++;
      return "skipped";
    }
    this.numSkipped = 0;
    this.change = 0;
    const reuses = this.reuses(isGuided);
    this.featureAge = reuses ? this.featureAge + 1 : 1;
    this.wasGuided = isGuided;
    const kind = isGuided || this.rows === 1 ? "full" : "unguided";
    return reuses ? `${kind}, reusing` : kind;
  }

  /** Hears by how much of itself the denoiser's input has changed in the step after a call. */
  observe(change: number): void {
    this.change += change;
  }

  /** Forgets what earlier calls left: the latents are others now. */
  forget(): void {
    this.wasGuided = undefined;
    this.featureAge = Number.POSITIVE_INFINITY;
  }

  private isGuided(call: number): boolean {
    const [min, max] = this.savings.guided;
    const sigma = this.sampler.sigmas[call]!;
    return this.rows === 2 && sigma >= min && sigma <= max;
  }

  /** The first and the last call are made, and the first one with another guidance. */
  private skips(call: number, isGuided: boolean): boolean {
    const { changeThreshold } = this.savings;
    if (changeThreshold === 0 || call === this.sampler.numModelCalls - 1) return false;
    return isGuided === this.wasGuided && this.numSkipped < MOST_SKIPPED && this.change < changeThreshold;
  }

  /** Features of both rows serve the conditional one alone, not the other way round. */
  private reuses(isGuided: boolean): boolean {
    const hasRows = this.wasGuided === isGuided || (this.wasGuided === true && !isGuided);
    return hasRows && this.featureAge < this.savings.featureInterval;
  }
}

/** How often each kind of call is made. */
export type CallCounts = Record<CallKind, number>;

/** Every kind of call. */
export const CALL_KINDS = [
  "full",
  "unguided",
  "full, reusing",
  "unguided, reusing",
  "skipped",
] as const satisfies readonly CallKind[];

/** Returns counts of no calls at all. */
export const noCalls = (): CallCounts => Object.fromEntries(CALL_KINDS.map((kind) => [kind, 0])) as CallCounts;

/** Counts the calls of a generation whose denoiser's input changes by `change` in each step: 0 for as few calls as there can be,
 *  infinity for as many. */
export function countCalls(
  sampler: Pick<Sampler, "sigmas" | "numModelCalls">,
  rows: 1 | 2,
  savings: CallSavings,
  change: number,
): CallCounts {
  const planner = new CallPlanner(sampler, rows, savings);
  const counts = noCalls();
  for (let call = 0; call < sampler.numModelCalls; call++) {
    counts[planner.next(call)]++;
    planner.observe(change);
  }
  return counts;
}
