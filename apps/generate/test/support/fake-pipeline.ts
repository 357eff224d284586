import type { GeneratedVideo, GenerateOptions, GenerationEstimate, ProgressEvent } from "@vd/svd-pipeline";
import { gradientFrames } from "../../../../tooling/testing/gradient-frames";
import type { ModelLoading, Pipeline, PipelineFactory } from "../../src/model/factory";
import type { ModelSource } from "../../src/model/source";

/** What a fake pipeline was asked for, and how it behaves. */
export interface FakeOptions {
  /** How long each step takes. */
  stepMs?: number;
  onLoad?(source: ModelSource, options: ModelLoading): unknown;
  onGenerate?(options: GenerateOptions): void;
  onDispose?(): void;
  /** What the autoencoder leaves of any picture, in dB. */
  reconstructionSnr?: number;
  /** Where the clips of the video meet. */
  seams?: readonly number[];
  /** Thrown in the middle of denoising. */
  failure?: unknown;
}

/** Defaults that differ from the command's own constants, so that a test can tell whose value was used. */
export const FAKE_DEFAULTS: Pipeline["defaults"] = {
  width: 64,
  height: 48,
  numFrames: 5,
  clipFrames: 5,
  steps: 4,
  fps: 7,
  motionBucketId: 127,
  noiseAugStrength: 0.02,
  minGuidance: 1,
  maxGuidance: 3,
};

/** A pipeline that draws a moving gradient: the interface of the real one, none of its work. */
export function fakeFactory(fake: FakeOptions = {}): PipelineFactory {
  return {
    async load(source, options) {
      await fake.onLoad?.(source, options);
      options.onProgress({ stage: "load", step: 1, steps: 1, elapsedUs: 1000 });
      return new FakePipeline(fake);
    },
    reconstructionSnr: async () => fake.reconstructionSnr ?? Number.POSITIVE_INFINITY,
  };
}

class FakePipeline implements Pipeline {
  readonly defaults = FAKE_DEFAULTS;
  readonly #fake: FakeOptions;

  constructor(fake: FakeOptions) {
    this.#fake = fake;
  }

  async plan(options: GenerateOptions): Promise<GenerationEstimate> {
    const steps = options.steps ?? this.defaults.steps;
    const unet = { name: "denoise", numRows: 812, peakBytes: 90 * 2 ** 20, flops: 22.2e9, bytes: 1.2e9 };
    const vae = { name: "decode", numRows: 301, peakBytes: 140 * 2 ** 20, flops: 204e9, bytes: 3e9 };
    return {
      stages: [
        { ...unet, runs: steps, estimatedUs: steps * 200_000 },
        { ...vae, runs: 1, estimatedUs: 1_700_000 },
      ],
      weightBytes: 20_955_856,
      peakBytes: 140 * 2 ** 20,
      warnings: [],
      flops: steps * unet.flops + vae.flops,
      estimatedUs: steps * 200_000 + 1_700_000,
    };
  }

  async generate(options: GenerateOptions): Promise<GeneratedVideo> {
    this.#fake.onGenerate?.(options);
    const { width = 64, height = 48, numFrames = 5, steps = 4, fps = 7 } = options;
    const seed = BigInt(options.seed ?? 0);
    const data = gradientFrames(width, height, numFrames, Number(seed % 256n));
    for (let step = 1; step <= steps; step++) {
      await new Promise((resolve) => setTimeout(resolve, this.#fake.stepMs ?? 0));
      options.signal?.throwIfAborted();
      if (this.#fake.failure && step > steps / 2) throw this.#fake.failure;
      const event: ProgressEvent = { stage: "denoise", step, steps, elapsedUs: step * 1000, stepUs: 1000 };
      options.onProgress?.(event);
      const small = gradientFrames(width / 8, height / 8, numFrames, step);
      if (step % (options.previewEvery ?? 1) !== 0) continue;
      options.onPreview?.({ step, width: width / 8, height: height / 8, frames: small, numFrames });
    }
    options.onProgress?.({ stage: "decode", step: numFrames, steps: numFrames, elapsedUs: 2000 });
    const timings = { encode: 10_000, denoise: 400_000, decode: 90_000 };
    const notAsked = () => {
      throw new Error("vd-generate writes its files by itself");
    };
    const files = { save: notAsked, toBuffer: notAsked, toStream: notAsked };
    const denoiserCalls = { full: 4, unguided: 0, "full, reusing": 0, "unguided, reusing": 0, skipped: 0 };
    const facts = { fps, seed, seams: this.#fake.seams ?? [], timings, peakBytes: 140 * 2 ** 20, denoiserCalls };
    return { ...videoOf(data, width, height, numFrames), ...files, ...facts };
  }

  dispose(): void {
    this.#fake.onDispose?.();
  }
}

/** The views of frames [F,H,W,3] that a generated video offers. */
function videoOf(data: Uint8Array, width: number, height: number, numFrames: number) {
  const area = width * height;
  const frame = (i: number) => data.subarray(i * area * 3, (i + 1) * area * 3);
  return {
    ...{ data, width, height, numFrames, frame },
    // [F,3,H,W]
    floats: () =>
      Float32Array.from({ length: data.length }, (_, i) => {
        const [f, channel, pixel] = [Math.floor(i / (3 * area)), Math.floor(i / area) % 3, i % area];
        return data[(f * area + pixel) * 3 + channel]! / 255;
      }),
    *[Symbol.iterator]() {
      for (let i = 0; i < numFrames; i++) yield { width, height, data: frame(i) };
    },
  };
}
