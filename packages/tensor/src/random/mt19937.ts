import { mersenneDraws, VdError } from "@vd/kernels-native";

const stateLength = 624;

/**
 * Checks the state of an engine that was stored somewhere: 624 words and the position of the next one, from 0 to 624.
 *
 * @throws VdError `shape`
 */
export function checkEngineState(saved: Uint32Array): void {
  if (saved.length === stateLength + 1 && saved[stateLength]! <= stateLength) return;
  const expected = `${stateLength} words and a position up to ${stateLength}`;
  const got = `${saved.length} words, the last one ${saved[saved.length - 1] ?? "none"}`;
  throw new VdError({ code: "shape", where: "CpuGenerator state", expected, got });
}

/**
 * The Mersenne Twister, seeded here and drawn by the addon. Source: M. Matsumoto and T. Nishimura, "Mersenne Twister: A
 * 623-dimensionally equidistributed uniform pseudorandom number generator" (1998), with the initialisation of 2002.
 */
export class Mt19937 {
  /** The 624 words and, after them, the position of the one that comes next. */
  private state: Uint32Array = new Uint32Array(stateLength + 1);
  /** What each of the words gives, once one of them is wanted. */
  private draws: Uint32Array | undefined;

  /** `seed` is an unsigned 32-bit integer. */
  constructor(seed: number) {
    const { state } = this;
    state[0] = seed;
    for (let i = 1; i < stateLength; i++) {
      const previous = state[i - 1]!;
      state[i] = Math.imul(1_812_433_253, previous ^ (previous >>> 30)) + i;
    }
    state[stateLength] = stateLength;
  }

  /** The next draw: an unsigned 32-bit integer. */
  next(): number {
    const draws = this.state[stateLength]! < stateLength && this.draws ? this.draws : this.refill();
    return draws[this.state[stateLength]!++]!;
  }

  /** The 624 words and, after them, the position of the one that comes next. */
  save(): Uint32Array {
    return this.state.slice();
  }

  /** Goes on where a {@link save}d engine stood. */
  restore(saved: Uint32Array): void {
    this.state = saved.slice();
    this.draws = undefined;
  }

  private refill(): Uint32Array {
    const { state, draws } = mersenneDraws(this.state);
    this.state = state;
    this.draws = draws;
    return draws;
  }
}
