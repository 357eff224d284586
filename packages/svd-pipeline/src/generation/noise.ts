import { countOf } from "@vd/kernels-native";
import { CpuGenerator } from "@vd/tensor";
import { type GenerationContext, latentDims } from "./context";
import { NoiseSource } from "./latent-noise";
import type { Progress } from "./progress";

/** The noise of one generation. Calls draw in the reference's order: for the picture, for the first latents, then for
 *  each step that wants some. */
export class GenerationNoise {
  private readonly source: NoiseSource;
  /** The first latents, where they are drawn before their turn. */
  private drawn: Promise<Float32Array> | undefined;

  constructor(
    private readonly context: GenerationContext,
    private readonly progress: Progress,
  ) {
    const { checked, precision, options } = context;
    this.source = new NoiseSource(new CpuGenerator(checked.seed), precision, options.signal);
  }

  /** Returns the picture with a little noise on it. pixels: [1,3,H,W]. */
  onPicture(pixels: Float32Array): Promise<Float32Array> {
    const { checked, scratch } = this.context;
    const into = scratch.floats("noisy picture", pixels.length);
    return this.draw(() => this.source.noisy(pixels, checked.noiseAugStrength, into));
  }

  /** Begins to draw the first latents while something else is computed. */
  drawFirstAhead(): void {
    this.drawn = this.drawFirst();
    this.drawn.catch(() => undefined);
  }

  /** Returns the latents at the first noise level, [F,C,h,w]. */
  firstLatents(): Promise<Float32Array> {
    return this.drawn ?? this.drawFirst();
  }

  /** Draws the unit noise of a step, [F,C,h,w]. */
  forStep(): Promise<Float32Array> {
    return this.draw(() => this.source.unit(countOf(latentDims(this.context))));
  }

  private drawFirst(): Promise<Float32Array> {
    const { sampling, scratch } = this.context;
    const into = scratch.floats("latents", countOf(latentDims(this.context)));
    return this.draw(() => this.source.scaled(into.length, sampling.sampler.initNoiseSigma, into));
  }

  private draw(body: () => Promise<Float32Array>): Promise<Float32Array> {
    return this.progress.scope("noise", body);
  }
}
