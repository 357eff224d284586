// What a state on the disk costs per step, at the size of Stable Video Diffusion XT: 25 frames of 1024x576, with a denoiser that
// computes nothing: milliseconds per step, and the longest wait of the event loop meanwhile.
// node --import tsx tooling/measure/resume/main.ts [FOLDER]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DenoiserFactory, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import type { WorkObserver } from "@vd/tensor";

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

/** Hears how long keeping a step takes, and how long the event loop does not turn at most meanwhile; in ms. */
class KeepWatch implements WorkObserver {
  readonly times: number[] = [];
  longestWait = 0;

  scope<T>(name: string, body: () => T): T {
    return name === "keep state" ? (this.watch(body) as T) : body();
  }

  private async watch(body: () => unknown): Promise<void> {
    const start = performance.now();
    let last = start;
    let isOver = false;
    const beat = () => {
      const now = performance.now();
      this.longestWait = Math.max(this.longestWait, now - last);
      last = now;
      if (!isOver) setImmediate(beat);
    };
    setImmediate(beat);
    await body();
    isOver = true;
    this.times.push(performance.now() - start);
  }

  planLoaded(): void {}
  planRan(): void {}
  planFreed(): void {}
}

try {
  for (const sampler of ["euler", "dpmpp_2m"] as const) {
    const profiler = new KeepWatch();
    await pipeline.generate({
      ...{ ...SIZE, image, sampler, profiler, outputType: "latent" as const },
      resume: join(folder, sampler),
    });
    const sorted = [...profiler.times].sort((a, b) => a - b);
    const [median, most] = [sorted[STEPS / 2]!, sorted.at(-1)!].map((ms) => ms.toFixed(1));
    const wait = profiler.longestWait.toFixed(1);
    console.log(`${sampler}: ${median} ms a step, at most ${most}; the event loop waits ${wait} ms at most`);
  }
} finally {
  pipeline.dispose();
  rmSync(folder, { recursive: true, force: true });
}
