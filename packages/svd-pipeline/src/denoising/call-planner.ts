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

/** What decisions depend on besides the noise level: what the calls before left. */
interface CallState {
  /** Calls that were skipped since the last one that was made. */
  numSkipped: number;
  /** Calls since the inner blocks' features were computed; infinite before the first. */
  featureAge: number;
  /** Of the call that was made last; undefined before the first. */
  wasGuided: boolean | undefined;
}

const FRESH: CallState = { numSkipped: 0, featureAge: Number.POSITIVE_INFINITY, wasGuided: undefined };

/** The rules by which calls are made. */
class CallRules {
  constructor(
    readonly sampler: Pick<Sampler, "sigmas" | "numModelCalls">,
    private readonly rows: 1 | 2,
    readonly savings: CallSavings,
  ) {}

  /** Whether a call may be skipped: the first and the last one are made, and the first one with another guidance. */
  maySkip(call: number, { numSkipped, wasGuided }: CallState): boolean {
    if (this.savings.changeThreshold === 0 || call === this.sampler.numModelCalls - 1) return false;
    return this.isGuided(call) === wasGuided && numSkipped < MOST_SKIPPED;
  }

  /** Whether some call behind `state` may take features of an earlier one. */
  mayReuse({ featureAge }: CallState): boolean {
    return featureAge < this.savings.featureInterval;
  }

  /** How a call is made that is not skipped, and what it leaves. */
  make(call: number, state: CallState): { kind: CallKind; state: CallState } {
    const wasGuided = this.isGuided(call);
    const kind = wasGuided || this.rows === 1 ? "full" : "unguided";
    // Features of both rows serve the conditional one alone, not the other way round.
    const hasRows = state.wasGuided === wasGuided || (state.wasGuided === true && !wasGuided);
    const reuses = hasRows && state.featureAge < this.savings.featureInterval;
    const featureAge = reuses ? state.featureAge + 1 : 1;
    return { kind: reuses ? `${kind}, reusing` : kind, state: { numSkipped: 0, featureAge, wasGuided } };
  }

  private isGuided(call: number): boolean {
    const [min, max] = this.savings.guided;
    const sigma = this.sampler.sigmas[call]!;
    return this.rows === 2 && sigma >= min && sigma <= max;
  }
}

const skip = (state: CallState): CallState => ({ ...state, numSkipped: state.numSkipped + 1 });

/** What a {@link CallPlanner} goes on from. */
export interface SavedPlanner {
  state: CallState;
  change: number;
}

/** Decides how each call of a generation is made: by noise levels, by the calls before it, and by how much the denoiser's input has
 *  changed. The same changes lead to the same decisions. */
export class CallPlanner {
  private readonly rules: CallRules;
  private state = FRESH;
  private change = 0;

  /** rows: 2 where there is guidance. */
  constructor(sampler: Pick<Sampler, "sigmas" | "numModelCalls">, rows: 1 | 2, savings: CallSavings) {
    this.rules = new CallRules(sampler, rows, savings);
  }

  /** Says how the next call is made; asked once for each call in turn. */
  next(call: number): CallKind {
    const { rules, state } = this;
    if (rules.maySkip(call, state) && this.change < rules.savings.changeThreshold) {
      this.state = skip(state);
      return "skipped";
    }
    const made = rules.make(call, state);
    this.state = made.state;
    this.change = 0;
    return made.kind;
  }

  /** Hears by how much of itself the denoiser's input has changed in the step after a call. */
  observe(change: number): void {
    this.change += change;
  }

  /** Whether a later call may take the inner blocks' features that are there now. */
  get needsFeatures(): boolean {
    return this.rules.mayReuse(this.state);
  }

  /** Returns what the next decisions follow from, as plain values. */
  save(): SavedPlanner {
    return { state: this.state, change: this.change };
  }

  /** Goes on where another planner of the same generation stood. */
  goOnFrom({ state, change }: SavedPlanner): void {
    this.state = state;
    this.change = change;
  }

  /** Forgets what earlier calls left: the latents are others now. */
  forget(): void {
    this.state = FRESH;
  }
}

/** Every kind of call. */
export const CALL_KINDS: readonly CallKind[] = ["full", "unguided", "full, reusing", "unguided, reusing", "skipped"];

/** How often each kind of call is made. */
export type CallCounts = Record<CallKind, number>;

/** Returns counts of no calls at all. */
export const noCalls = (): CallCounts => countsBy(() => 0);

/** Returns the sums of counts. */
export const addCalls = (all: readonly CallCounts[]): CallCounts =>
  countsBy((kind) => all.reduce((sum, counts) => sum + counts[kind], 0));

const countsBy = (count: (kind: CallKind) => number) =>
  Object.fromEntries(CALL_KINDS.map((kind) => [kind, count(kind)])) as CallCounts;

/** The least and the most of each kind of calls so far, over all ways to come to a state. */
interface CountsAt {
  state: CallState;
  fewest: CallCounts;
  most: CallCounts;
}

function withCall({ fewest, most }: CountsAt, kind: CallKind, state: CallState): CountsAt {
  const more = (counts: CallCounts) => ({ ...counts, [kind]: counts[kind] + 1 });
  return { state, fewest: more(fewest), most: more(most) };
}

/** Both ways to come to one state. */
function joined(a: CountsAt, b: CountsAt | undefined): CountsAt {
  if (b === undefined) return a;
  return {
    state: a.state,
    fewest: countsBy((kind) => Math.min(a.fewest[kind], b.fewest[kind])),
    most: countsBy((kind) => Math.max(a.most[kind], b.most[kind])),
  };
}

function join(all: Iterable<CountsAt>): CountsAt[] {
  const byState = new Map<string, CountsAt>();
  for (const each of all) {
    const { numSkipped, featureAge, wasGuided } = each.state;
    const key = `${numSkipped} ${featureAge} ${wasGuided}`;
    byState.set(key, joined(each, byState.get(key)));
  }
  return [...byState.values()];
}

/** Returns how often each kind of call is made at least and at most among the first `numCalls`, by default all, whatever the changes that will
 *  be measured. */
export function countCalls(
  sampler: Pick<Sampler, "sigmas" | "numModelCalls">,
  rows: 1 | 2,
  savings: CallSavings,
  numCalls = sampler.numModelCalls,
): { fewest: CallCounts; most: CallCounts } {
  const rules = new CallRules(sampler, rows, savings);
  let all: CountsAt[] = [{ state: FRESH, fewest: noCalls(), most: noCalls() }];
  for (let call = 0; call < numCalls; call++)
    all = join(
      all.flatMap((at) => {
        const { kind, state } = rules.make(call, at.state);
        const made = withCall(at, kind, state);
        return rules.maySkip(call, at.state) ? [made, withCall(at, "skipped", skip(at.state))] : [made];
      }),
    );
  const { fewest, most } = all.reduce((a, b) => joined(a, b));
  return { fewest, most };
}
