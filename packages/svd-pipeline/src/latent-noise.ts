import { type CpuGenerator, mapPausable, type Pausable, runInSlices, type SliceOptions } from "@vd/tensor";
import { cast } from "./sampling/values";
import type { Precision } from "./types";

/** Draws a generation's noise in the reference's order: for the picture, for the first latents, then for each step that
 *  wants some. Numbers are those of torch, rounded to the precision in which the reference draws them; the event loop
 *  turns meanwhile. */
export class NoiseSource {
  constructor(
    private readonly random: CpuGenerator,
    private readonly precision: Precision,
    private readonly options: SliceOptions,
  ) {}

  /** The picture with `strength` times unit noise on it, in float32. */
  noisy(pixels: Float32Array, strength: number): Promise<Float32Array> {
    const factor = Math.fround(strength);
    return this.inSlices(function* (random) {
      const noise = yield* random.randnPausable(pixels.length);
      return yield* mapPausable(pixels, (piece, result, begin) => {
        for (let i = 0; i < piece.length; i++) result[i] = piece[i]! + Math.fround(factor * noise[begin + i]!);
      });
    });
  }

  /** `count` unit normals. */
  unit(count: number): Promise<Float32Array> {
    return this.scaled(count, 1);
  }

  /** `count` normals of deviation `scale`; the unit ones are rounded, and the product again. */
  scaled(count: number, scale: number): Promise<Float32Array> {
    const { precision } = this;
    const factor = Math.fround(scale);
    const rounded = (data: Float32Array) => cast({ data, dtype: "float32" }, precision).data;
    return this.inSlices(function* (random) {
      const noise = yield* random.randnPausable(count);
      if (factor === 1 && precision === "float32") return noise;
      return yield* mapPausable(noise, (piece, result) => {
        const unit = rounded(piece);
        for (let i = 0; i < unit.length; i++) result[i] = unit[i]! * factor;
        result.set(rounded(result));
      });
    });
  }

  private inSlices(work: (random: CpuGenerator) => Pausable<Float32Array>): Promise<Float32Array> {
    return runInSlices(work(this.random), this.options);
  }
}
