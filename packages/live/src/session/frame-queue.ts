import type { LiveFrame } from "./types";

/** A place for a picture in the ring. */
export interface Slot {
  readonly data: Uint8Array;
  /** How many frames of the queue, and the reader, still need it. */
  users: number;
}

type Taker = { resolve(result: IteratorResult<LiveFrame>): void; reject(error: unknown): void };

const DONE: IteratorResult<LiveFrame> = { done: true, value: undefined };

/** Finished frames between the session and its reader: at most `capacity` wait, in a ring of pictures that is made once. */
export class FrameQueue {
  private readonly slots: Slot[];
  private waiting: { frame: LiveFrame; slot: Slot }[] = [];
  private readonly takers: Taker[] = [];
  private held: Slot | undefined;
  private onRoom: (() => void) | undefined;
  private onWanted: (() => void) | undefined;
  private ended = false;
  private failure: { error: unknown } | undefined;

  /** bytes: of a picture. */
  constructor(
    readonly capacity: number,
    bytes: number,
  ) {
    // Besides those that wait: one is being made, one is read, and one is the last frame, which may come a second time.
    this.slots = Array.from({ length: capacity + 3 }, () => ({ data: new Uint8Array(bytes), users: 0 }));
  }

  get isFull(): boolean {
    return this.waiting.length >= this.capacity;
  }

  /** A free place, which the caller then holds. */
  acquire(): Slot {
    const slot = this.slots.find(({ users }) => users === 0)!;
    slot.users++;
    return slot;
  }

  /** Lets go of a place that {@link acquire} gave. */
  release(slot: Slot): void {
    slot.users--;
  }

  /** Settles when there is room, or the queue has ended. */
  room(): Promise<void> {
    if (!this.isFull || this.ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.onRoom = resolve;
    });
  }

  /** Settles when the reader waits for a frame, or the queue has ended. */
  wanted(): Promise<void> {
    if (this.takers.length > 0 || this.ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.onWanted = resolve;
    });
  }

  /** Hands a frame over whose picture lies in `slot`. */
  put(frame: LiveFrame, slot: Slot): void {
    if (this.ended) return;
    const taker = this.takers.shift();
    if (!taker) {
      slot.users++;
      this.waiting.push({ frame, slot });
      return;
    }
    // A reader that has asked for the next one too needs this one no longer.
    if (this.takers.length === 0) this.hold(slot);
    taker.resolve({ done: false, value: frame });
  }

  /** The next frame; the one before may then be overwritten. */
  take(): Promise<IteratorResult<LiveFrame>> {
    if (this.held) this.release(this.held);
    this.held = undefined;
    const first = this.waiting.shift();
    if (first) {
      this.held = first.slot;
      this.wake();
      return Promise.resolve({ done: false, value: first.frame });
    }
    if (this.failure) {
      const { error } = this.failure;
      this.failure = undefined;
      return Promise.reject(error);
    }
    if (this.ended) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.takers.push({ resolve, reject });
      this.onWanted?.();
      this.onWanted = undefined;
    });
  }

  /** Drops the frames that nobody has read. */
  clear(): void {
    for (const { slot } of this.waiting) this.release(slot);
    this.waiting = [];
    this.wake();
  }

  /** Ends the iteration, with an error if there is one, of which one call hears; frames that wait are dropped. */
  end(failure?: { error: unknown }): void {
    if (this.ended) return;
    this.ended = true;
    this.clear();
    const [first, ...others] = this.takers.splice(0);
    if (failure && first) first.reject(failure.error);
    else {
      this.failure = failure;
      first?.resolve(DONE);
    }
    for (const { resolve } of others) resolve(DONE);
    this.onWanted?.();
  }

  private hold(slot: Slot): void {
    slot.users++;
    this.held = slot;
  }

  private wake(): void {
    this.onRoom?.();
    this.onRoom = undefined;
  }
}
