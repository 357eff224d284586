import { allocateFloats, countOf, touchFloats } from "@vd/kernels-native";
import { type Clip, framesOf } from "./clip";

/** The result of a whole clip, in one array into which pieces are read. The operating system gives its memory while the first piece is computed. */
export class WholeResult {
  private made: Clip | undefined;
  private touched: Promise<void> = Promise.resolve();

  /**
   * Makes the array.
   *
   * @throws VdError `memory`
   */
  prepare(dims: Clip["dims"]): void {
    const values = allocateFloats(countOf(dims));
    this.made = { values, dims };
    // Without that the memory comes as it is read into.
    this.touched = touchFloats(values).catch(() => undefined);
  }

  /** Where `count` frames from number `first` on lie. */
  place(first: number, count: number): Float32Array {
    return framesOf(this.clip, first, first + count).values;
  }

  /** All of it. */
  get clip(): Clip {
    return this.made!;
  }

  /** Waits until nothing is under way. */
  settle(): Promise<void> {
    return this.touched;
  }
}
