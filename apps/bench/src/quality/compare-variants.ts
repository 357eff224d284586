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

/** A generation beside the exact one. */
export interface ComparedRun {
  savings: Savings;
  calls: GeneratedVideo["denoiserCalls"];
  /** Of denoising alone, the best of all rounds, in µs. */
  denoiseUs: number;
  /** Of the exact run over this one's, each the best of its rounds. */
  speedup: number;
  /** Of the frames, in dB; infinite for the same ones. */
  psnr: number;
  ssim: number;
  /** Of the latents: length of the difference over length of the exact ones. */
  latentDistance: number;
}

interface Run {
  video: GeneratedVideo;
  latents: Float32Array;
  denoiseUs: number;
}

async function generate(pipeline: StableVideoDiffusionPipeline, options: GenerateOptions): Promise<Run> {
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
  const runs: Run[] = [];
  for (let round = 0; round < rounds; round++)
    for (const [i, contender] of contenders.entries()) {
      const run = await generate(pipeline, { ...options, ...contender });
      runs[i] = { ...run, denoiseUs: Math.min(run.denoiseUs, runs[i]?.denoiseUs ?? Number.POSITIVE_INFINITY) };
      onProgress?.(round * contenders.length + i + 1, rounds * contenders.length);
    }
  const exact = runs[0]!;
  return runs.map(({ video, latents, denoiseUs }, i) => ({
    ...{ savings: contenders[i]!, calls: video.denoiserCalls, denoiseUs, speedup: exact.denoiseUs / denoiseUs },
    ...{ psnr: psnr(video.data, exact.video.data), ssim: ssim(video, exact.video) },
    latentDistance: relativeDistance(latents, exact.latents),
  }));
}
