import { sharedFloats } from "@vd/kernels-native";

/** Arrays of megabytes that the generations of a pipeline use one after the other. Each new one would bring a collection of
 *  all garbage nearer, and letting go of it takes the event loop's time. They are in shared memory, which worker threads
 *  use in place. */
export class Scratch {
  private readonly arrays = new Map<string, Float32Array>();

  /** Returns an array of `count` numbers with arbitrary contents: under one name the same array each time, as long as the
   *  count stays. */
  floats(name: string, count: number): Float32Array {
    const known = this.arrays.get(name);
    if (known?.length === count) return known;
    const array = sharedFloats(count);
    this.arrays.set(name, array);
    return array;
  }
}
