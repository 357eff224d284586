const stateLength = 624;
const shiftLength = 397;

/**
 * The Mersenne Twister. Source: M. Matsumoto and T. Nishimura, "Mersenne Twister: A 623-dimensionally equidistributed
 * uniform pseudorandom number generator" (1998), with the initialisation of 2002.
 */
export class Mt19937 {
  private readonly state = new Uint32Array(stateLength);
  private index = stateLength;

  /** `seed` is an unsigned 32-bit integer. */
  constructor(seed: number) {
    const { state } = this;
    state[0] = seed;
    for (let i = 1; i < stateLength; i++) {
      const previous = state[i - 1]!;
      state[i] = Math.imul(1_812_433_253, previous ^ (previous >>> 30)) + i;
    }
  }

  /** The next draw: an unsigned 32-bit integer. */
  next(): number {
    if (this.index === stateLength) this.twist();
    let word = this.state[this.index++]!;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    return (word ^ (word >>> 18)) >>> 0;
  }

  /** The 624 words and, after them, the position of the one that comes next. */
  save(): Uint32Array {
    return Uint32Array.of(...this.state, this.index);
  }

  /** Goes on where a {@link save}d engine stood. */
  restore(saved: Uint32Array): void {
    this.state.set(saved.subarray(0, stateLength));
    this.index = saved[stateLength]!;
  }

  private twist(): void {
    const { state } = this;
    for (let i = 0; i < stateLength; i++) {
      const mixed = (state[i]! & 0x8000_0000) | (state[(i + 1) % stateLength]! & 0x7fff_ffff);
      state[i] = state[(i + shiftLength) % stateLength]! ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908_b0df : 0);
    }
    this.index = 0;
  }
}
