import { throwIfAborted } from "@vd/kernels-native";
import type { CpuGenerator } from "@vd/tensor";
import type { Precision } from "../types";

/** Draws a generation's noise in the reference's order: for the picture, for the first latents, then for each step that
 *  wants some. Numbers are those of torch, rounded to the precision in which the reference draws them; the event loop
 *  turns meanwhile. Calls reject with `cancelled` when the signal has fired; the thread that draws comes to its end. */
export class NoiseSource {
  constructor(
    private readonly random: CpuGenerator,
    private readonly precision: Precision,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Returns the picture with `strength` times unit noise on it, in float32. into: where to put it. */
  noisy(pixels: Float32Array, strength: number, into?: Float32Array): Promise<Float32Array> {
    return this.cancellable(() => this.random.randnOnWorker(pixels.length, { scale: strength, mean: pixels, into }));
  }

  /** Draws `strength` times unit noise as {@link noisy} does, in float32: what it adds to the picture. into: where to put it. */
  ofPicture(strength: number, into: Float32Array): Promise<Float32Array> {
    return this.cancellable(() => this.random.randnOnWorker(into.length, { scale: strength, into }));
  }

  /** Draws `count` unit normals as {@link noisy} does, in float32. */
  unitOfPicture(count: number): Promise<Float32Array> {
    return this.cancellable(() => this.random.randnOnWorker(count));
  }

  /** Draws `count` unit normals. */
  unit(count: number): Promise<Float32Array> {
    return this.scaled(count, 1);
  }

  /** Draws `count` normals of deviation `scale`; the unit ones are rounded, and the product again. into: where
   *  to put them. */
  scaled(count: number, scale: number, into?: Float32Array): Promise<Float32Array> {
    return this.cancellable(() => this.random.randnOnWorker(count, { scale, dtype: this.precision, into }));
  }

  private async cancellable(draw: () => Promise<Float32Array>): Promise<Float32Array> {
    throwIfAborted(this.signal, "generation");
    const noise = await draw();
    throwIfAborted(this.signal, "generation");
    return noise;
  }
}
