import { COUNT, requireArgument } from "@vd/kernels-native";

/** A generator of small whole numbers that is the same everywhere. Source: https://prng.di.unimi.it/splitmix64.c, in 32 bits (murmur3's finalizer). */
class Dice {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** A whole number from 0, below `sides`. */
  throw(sides: number): number {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) % sides;
  }
}

/** Shortest and longest time that an action is held, in frames. */
const HOLD = [5, 30] as const;

/** Returns an action for every frame of random play: each is held for 5 to 30 frames. */
export function* randomPlay(numActions: number, seed: number): Generator<number, never> {
  requireArgument("randomPlay numActions", numActions, COUNT);
  const dice = new Dice(seed);
  for (;;) {
    const action = dice.throw(numActions);
    const frames = HOLD[0] + dice.throw(HOLD[1] - HOLD[0] + 1);
    for (let i = 0; i < frames; i++) yield action;
  }
}
