import { countOf } from "@vd/kernels-native";
import type { RgbImage } from "@vd/media";
import { cast, mul } from "@vd/sampling";
import { CpuGenerator, mapFloats, PhiloxGenerator, planesToPixels, runInSlices } from "@vd/tensor";
import { isFloatImage } from "../conditioning/float-image";
import { signedPlanes } from "../conditioning/vae-input";
import { stepsOnDevice } from "../denoising/chosen-sampling";
import { type GenerationContext, latentDims } from "./context";
import { NoiseSource } from "./latent-noise";
import type { Progress } from "./progress";

/** Which part of a seed's noise is a video's, where several videos share it. */
export interface NoisePart {
  /** From 0. */
  index: number;
  count: number;
}

/** How far apart in a GPU's generator the videos of one seed begin: no video has as many steps. */
const BETWEEN_VIDEOS = 2 ** 32;

/** How far the generators of a generation's noise have come. */
export interface NoisePosition {
  /** The state of torch's CPU generator, as `CpuGenerator.saveState` returns it. */
  engine: Uint32Array;
  /** Of torch's GPU generator, for steps that draw on the device. */
  philoxOffset: number;
}

/** The noise of one generation. Calls draw in the reference's order: for the picture, for the first latents, then for
 *  each step that wants some. */
export class GenerationNoise {
  private readonly generator: CpuGenerator;
  private readonly source: NoiseSource;
  /** Of steps that draw as torch does on a GPU. */
  private readonly stepGenerator: PhiloxGenerator;
  /** The scaled noise for the picture, where it is drawn before the picture is there. */
  private pictureDrawn: Promise<Float32Array> | undefined;
  /** The first latents, where they are drawn before their turn. */
  private drawn: Promise<Float32Array> | undefined;

  /** A step's noise, where it is drawn before its turn, and how far the drawing had come before it. */
  private stepDrawn: { from: NoisePosition; pixels: Promise<Float32Array> } | undefined;

  /** part: of how many videos the seed's noise is for, and which one this is, from 0. */
  constructor(
    private readonly context: GenerationContext,
    private readonly progress: Progress,
    private readonly part: NoisePart = { index: 0, count: 1 },
  ) {
    const { checked, precision, options } = context;
    this.generator = new CpuGenerator(checked.seed);
    this.source = new NoiseSource(this.generator, precision, options.signal);
    this.stepGenerator = new PhiloxGenerator(checked.seed);
    this.stepGenerator.offset = part.index * BETWEEN_VIDEOS;
  }

  /** Begins to draw the noise for a picture of `count` numbers while something else is done: it does not depend on the picture. A picture of
   *  floats waits for its noise instead: only bytes are added to what is drawn. */
  drawPictureAhead(count: number): void {
    const { checked, scratch, options } = this.context;
    if (isFloatImage(options.image)) return;
    const into = scratch.floats("noisy picture", count);
    this.pictureDrawn = this.draw(() => this.source.ofPicture(checked.noiseAugStrength, into));
    this.pictureDrawn.catch(() => undefined);
  }

  /** Whether the picture's noise is drawn ahead, so that {@link underPicture} takes the picture. */
  get isPictureDrawn(): boolean {
    return this.pictureDrawn !== undefined;
  }

  /** Returns the picture on the noise that was drawn for it ahead, [1,3,H,W]. */
  underPicture(picture: RgbImage): Promise<Float32Array> {
    return this.draw(async () => {
      const into = await this.pictureDrawn;
      return signedPlanes(picture, { into, adds: true, signal: this.context.options.signal, where: "generation" });
    });
  }

  /** Returns the picture with a little noise on it, which is not drawn ahead. pixels: [1,3,H,W]. */
  async onPicture(pixels: Float32Array): Promise<Float32Array> {
    const { checked, scratch } = this.context;
    const into = scratch.floats("noisy picture", pixels.length);
    return this.draw(() => this.source.noisy(pixels, checked.noiseAugStrength, into));
  }

  /** Draws what {@link onPicture} would, for a picture of `count` numbers that is encoded already. */
  async skipPicture(count: number): Promise<void> {
    await (this.pictureDrawn ?? this.draw(() => this.source.unitOfPicture(count)));
  }

  /** Begins to draw the first latents while something else is computed, and behind them the first step's noise. */
  drawFirstAhead(): void {
    const { sampling, state } = this.context;
    // A run that goes on from a step goes on with its noise.
    const hasFirstStep = state === undefined && sampling.sampler.noiseDrawsAt(0);
    this.drawn = this.drawFirst();
    this.drawn.then(() => hasFirstStep && this.drawStepAhead()).catch(() => undefined);
  }

  /** Begins to draw what {@link pixelsForStep} gives next while something else is computed, where work overlaps. */
  drawStepAhead(): void {
    if (this.stepDrawn || !this.drawsStepsAhead) return;
    this.stepDrawn = { from: this.position(), pixels: this.drawPixels() };
    this.stepDrawn.pixels.catch(() => undefined);
  }

  /** Waits for what is drawn ahead, also where it failed: the arrays that it is drawn into are the next generation's. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.pictureDrawn, this.drawn]);
    // Begins when the first latents are drawn.
    await this.dropStep();
  }

  /** Returns the latents at the first noise level, [F,C,h,w]. */
  firstLatents(): Promise<Float32Array> {
    return this.drawn ?? this.drawFirst();
  }

  /** Draws the unit noise of a step, [F,C,h,w]. numFrames: of the clip that takes the step, where that is not all of the video. */
  forStep(numFrames = this.context.shape.numFrames): Promise<Float32Array> {
    const count = numFrames * this.frameLength;
    if (this.context.sampling.stepNoise === "cuda") return this.draw(async () => this.philoxOnHost(count));
    return this.draw(async () => this.ownPart(await this.source.unit(this.part.count * count)));
  }

  /** Draws the unit noise of a step as a device takes it, [F,h,w,C]. What this returned before is overwritten. */
  pixelsForStep(): Promise<Float32Array> {
    const ahead = this.stepDrawn;
    this.stepDrawn = undefined;
    return ahead?.pixels ?? this.drawPixels();
  }

  /** Says how far the drawing has come, but for what is drawn ahead for a step; no other draw may be under way. */
  position(): NoisePosition {
    if (this.stepDrawn) return this.stepDrawn.from;
    return { engine: this.generator.saveState(), philoxOffset: this.stepGenerator.offset };
  }

  /** Goes on where another run's drawing stood. */
  async goOnFrom({ engine, philoxOffset }: NoisePosition): Promise<void> {
    await this.dropStep();
    this.generator.restoreState(engine);
    this.stepGenerator.offset = philoxOffset;
  }

  /** Draws the noise of further frames at the first noise level, [F,C,h,w]. */
  scaledFrames(numFrames: number): Promise<Float32Array> {
    const count = numFrames * this.frameLength;
    if (count === 0) return Promise.resolve(new Float32Array());
    const { initNoiseSigma } = this.context.sampling.sampler;
    return this.draw(async () => this.ownPart(await this.source.scaled(this.part.count * count, initNoiseSigma)));
  }

  private get frameLength(): number {
    return countOf(latentDims(this.context).slice(1));
  }

  private philoxOnHost(count: number): Float32Array {
    const data = this.stepGenerator.randn(count);
    return cast({ data, dtype: "float32" }, this.context.precision).data;
  }

  /** Says where a step on the device draws its unit noise: the numbers of {@link forStep}. */
  philoxForStep(): Int32Array {
    return this.stepGenerator.draw(countOf(latentDims(this.context))).words;
  }

  /** Whether work overlaps, and steps on the device are given numbers of torch's CPU generator. */
  private get drawsStepsAhead(): boolean {
    const { sampling, overlap, denoiser } = this.context;
    const isGiven = sampling.stepNoise === "cpu" && stepsOnDevice(this.context) !== undefined;
    return overlap && isGiven && denoiser?.kind !== "elsewhere";
  }

  /** Waits for what is drawn ahead for a step, and forgets it. */
  private async dropStep(): Promise<void> {
    await this.stepDrawn?.pixels.catch(() => undefined);
    this.stepDrawn = undefined;
  }

  private async drawPixels(): Promise<Float32Array> {
    const { scratch, options } = this.context;
    const drawn = scratch.floats("step noise", this.numDrawn);
    const planes = this.ownPart(await this.draw(() => this.source.scaled(drawn.length, 1, drawn)));
    const into = scratch.floats("step noise as pixels", planes.length);
    const work = planesToPixels.inPieces(planes, latentDims(this.context), into);
    return runInSlices(work, { signal: options.signal, where: "generation" });
  }

  private get numDrawn(): number {
    return this.part.count * countOf(latentDims(this.context));
  }

  /** This video's part of what is drawn for all of them. */
  private ownPart(drawn: Float32Array): Float32Array {
    const length = drawn.length / this.part.count;
    return this.part.count === 1 ? drawn : drawn.slice(this.part.index * length, (this.part.index + 1) * length);
  }

  private async drawFirst(): Promise<Float32Array> {
    const { sampling, scratch, options } = this.context;
    const { initNoiseSigma } = sampling.sampler;
    if (options.latents) return this.scaled(options.latents, initNoiseSigma);
    const into = scratch.floats(this.part.count === 1 ? "latents" : "latents of all videos", this.numDrawn);
    return this.ownPart(await this.draw(() => this.source.scaled(into.length, initNoiseSigma, into)));
  }

  /** Given unit noise, rounded and scaled as drawn noise is. */
  private scaled(latents: Float32Array, scale: number): Promise<Float32Array> {
    const { precision: dtype, options } = this.context;
    const work = mapFloats.inPieces(latents, (piece, result) => {
      const unit = cast({ data: piece, dtype: "float32" }, dtype);
      result.set(mul(unit, scale).data);
    });
    return runInSlices(work, { signal: options.signal, where: "generation" });
  }

  private draw(body: () => Promise<Float32Array>): Promise<Float32Array> {
    return this.progress.scope("noise", body);
  }
}
