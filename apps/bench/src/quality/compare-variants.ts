import type { GeneratedVideo, GenerateOptions, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { psnr, relativeDistance, ssim } from "./measures";

/** What saves calls of the denoiser, or parts of them. */
export type Savings = Pick<
  GenerateOptions,
  "fast" | "guidanceMinSigma" | "guidanceMaxSigma" | "featureInterval" | "skipThreshold"
>;

/** What is compared with the exact run. */
export const SAVINGS: readonly Savings[] = [
  { guidanceMinSigma: 0.2 },
  { guidanceMinSigma: 0.2, guidanceMaxSigma: 100 },
  { featureInterval: 2 },
  { featureInterval: 3 },
  { skipThreshold: 0.02 },
  { skipThreshold: 0.05 },
  { skipThreshold: 0.1 },
  { fast: true },
];

/** How far a video is from the exact one. */
export interface Distance {
  /** Of the frames, in dB; infinite for the same ones. */
  psnr: number;
  ssim: number;
  /** Of the latents: length of the difference over length of the exact ones. */
  latentDistance: number;
}

/** Compares a generation with the exact one. */
export const distanceOf = ({ video, latents }: QualityRun, exact: QualityRun): Distance => ({
  ...{ psnr: psnr(video.data, exact.video.data), ssim: ssim(video, exact.video) },
  latentDistance: relativeDistance(latents, exact.latents),
});

/** A generation beside the exact one. */
export interface ComparedRun extends Distance {
  savings: Savings;
  calls: GeneratedVideo["denoiserCalls"];
  /** Of denoising alone, the best of all rounds, in µs. */
  denoiseUs: number;
  /** Of the exact run over this one's, each the best of its rounds. */
  speedup: number;
}

/** One generation of a comparison. */
export interface QualityRun {
  video: GeneratedVideo;
  latents: Float32Array;
  denoiseUs: number;
}

/** Generates a video and keeps its last latents. @throws VdError as `generate` of the pipeline */
export async function generateForQuality(
  pipeline: StableVideoDiffusionPipeline,
  options: GenerateOptions,
): Promise<QualityRun> {
  let latents = new Float32Array();
  const onStepEnd: GenerateOptions["onStepEnd"] = ({ step, steps, latents: now }) => {
    if (step === steps) latents = Float32Array.from(now);
  };
  const video = await pipeline.generate({ ...options, onStepEnd });
  return { video, latents, denoiseUs: video.timings.denoise! };
}

/** How the comparison reports, and how often each run is made. */
export interface CompareRuns {
  rounds: number;
  onProgress?: (done: number, total: number) => void;
}

/**
 * Generates a video exactly and with each of `savings`, by turns, and returns what each saves and costs; the exact run comes first.
 *
 * @throws VdError as `generate`
 */
export async function compareSavings(
  pipeline: StableVideoDiffusionPipeline,
  options: GenerateOptions,
  savings: readonly Savings[],
  { rounds, onProgress }: CompareRuns,
): Promise<ComparedRun[]> {
  const contenders = [{}, ...savings];
  const runs: QualityRun[] = [];
  for (let round = 0; round < rounds; round++)
    for (const [i, contender] of contenders.entries()) {
      const run = await generateForQuality(pipeline, { ...options, ...contender });
      runs[i] = { ...run, denoiseUs: Math.min(run.denoiseUs, runs[i]?.denoiseUs ?? Number.POSITIVE_INFINITY) };
      onProgress?.(round * contenders.length + i + 1, rounds * contenders.length);
    }
  const exact = runs[0]!;
  return runs.map((run, i) => ({
    ...{ savings: contenders[i]!, calls: run.video.denoiserCalls, denoiseUs: run.denoiseUs },
    ...{ speedup: exact.denoiseUs / run.denoiseUs, ...distanceOf(run, exact) },
  }));
}
