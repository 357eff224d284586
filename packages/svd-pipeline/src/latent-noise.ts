import { type CpuGenerator, type Pausable, runInSlices, type SliceOptions } from "@vd/tensor";
import { roundInPlace } from "./sampling/values";
import type { Precision } from "./types";

/** Values between two pauses. */
const PIECE = 4_096;

/** Calls `body` for piece after piece of `values`, pausing in between. It changes them where they are: each new array of
 *  megabytes brings a garbage collection nearer. */
function* inPieces({ length }: Float32Array, body: (begin: number, end: number) => void): Pausable<void> {
  for (let begin = 0; begin < length; begin += PIECE) {
    body(begin, Math.min(begin + PIECE, length));
    yield;
  }
}

/** Draws a generation's noise in the reference's order: for the picture, for the first latents, then for each step that
 *  wants some. Numbers are those of torch, rounded to the precision in which the reference draws them; the event loop
 *  turns meanwhile. */
export class NoiseSource {
  constructor(
    private readonly random: CpuGenerator,
    private readonly precision: Precision,
    private readonly options: SliceOptions,
  ) {}

  /** The picture with `strength` times unit noise on it, in float32. into: where to put it. */
  noisy(pixels: Float32Array, strength: number, into?: Float32Array): Promise<Float32Array> {
    const factor = Math.fround(strength);
    return this.inSlices(function* (random) {
      const noise = yield* random.randnPausable(pixels.length, into);
      yield* inPieces(noise, (begin, end) => {
        for (let i = begin; i < end; i++) noise[i] = pixels[i]! + Math.fround(factor * noise[i]!);
      });
      return noise;
    });
  }

  /** `count` unit normals. */
  unit(count: number): Promise<Float32Array> {
    return this.scaled(count, 1);
  }

  /** `count` normals of deviation `scale`; the unit ones are rounded, and the product again. into: where
   *  to put them. */
  scaled(count: number, scale: number, into?: Float32Array): Promise<Float32Array> {
    const { precision } = this;
    const factor = Math.fround(scale);
    return this.inSlices(function* (random) {
      const noise = yield* random.randnPausable(count, into);
      if (factor === 1 && precision === "float32") return noise;
      yield* inPieces(noise, (begin, end) => {
        const piece = noise.subarray(begin, end);
        roundInPlace(piece, precision);
        for (let i = 0; i < piece.length; i++) piece[i] = piece[i]! * factor;
        roundInPlace(piece, precision);
      });
      return noise;
    });
  }

  private inSlices(work: (random: CpuGenerator) => Pausable<Float32Array>): Promise<Float32Array> {
    return runInSlices(work(this.random), this.options);
  }
}
