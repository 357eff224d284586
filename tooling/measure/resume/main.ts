// What a state on the disk costs per step, at the size of Stable Video Diffusion XT: 25 frames of 1024x576, with a denoiser that
// computes nothing. Prints milliseconds per step with and without a state, and the longest wait of the event loop.
// node --import tsx tooling/measure/resume/main.ts [FOLDER]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { type DenoiserFactory, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

const STEPS = 20;
const SIZE = { width: 1024, height: 576, numFrames: 25, steps: STEPS, seed: 1, maxGuidance: 1 } as const;
const MODEL = fileURLToPath(new URL("../../../models/tiny-svd", import.meta.url));

/** Predicts zeros at once. */
const nothing: DenoiserFactory = {
  name: "nothing",
  prepare: async () => undefined,
  open: async () => ({
    predict: async ({ latents }) => new Float32Array(latents.length),
    close: async () => {},
  }),
};

const pipeline = await StableVideoDiffusionPipeline.fromPretrained(MODEL, { denoiser: nothing });
const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), "vd-state-"));
const image = { width: 64, height: 36, data: new Uint8Array(64 * 36 * 3).fill(90) };

/** Milliseconds per step, and the event loop's longest wait in them. */
async function measure(sampler: "euler" | "dpmpp_2m", resume: string | undefined): Promise<[number, number]> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const video = await pipeline.generate({
    ...{ ...SIZE, image, sampler, outputType: "latent" as const },
    ...(resume !== undefined && { resume }),
    onProgress: ({ stage, step }) => {
      if (stage === "denoise" && step === 1) delays.enable();
      if (stage === "denoise" && step === STEPS) delays.disable();
    },
  });
  return [video.timings.denoise! / 1000 / STEPS, delays.max / 1e6];
}

try {
  await measure("euler", undefined);
  for (const sampler of ["euler", "dpmpp_2m"] as const) {
    const [plain] = await measure(sampler, undefined);
    const [kept, delay] = await measure(sampler, join(folder, sampler));
    const cost = (kept - plain).toFixed(1);
    console.log(
      `${sampler}: ${plain.toFixed(1)} ms a step, ${kept.toFixed(1)} ms with a state: ${cost} ms; event loop ${delay.toFixed(1)} ms`,
    );
  }
} finally {
  pipeline.dispose();
  rmSync(folder, { recursive: true, force: true });
}
