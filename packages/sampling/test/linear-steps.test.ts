import { describe, expect, test } from "vitest";
import { svdConfig } from "../../../tooling/testing/svd-sampling";
import { createSampler, type Sampler, type SamplerState, samplerNames } from "../src/index";
import { linearSteps } from "../src/linear-steps";

const LENGTH = 64;

/** Numbers of about a normal distribution that `seed` decides. */
function numbers(seed: number, scale = 1): Float32Array {
  return Float32Array.from({ length: LENGTH }, (_, i) => scale * Math.sin(12.9898 * (i + 1) * (seed + 1)) * 2);
}

/** Largest difference over the root mean square. */
function distance(got: Float32Array, wanted: Float32Array): number {
  const rms = Math.sqrt(wanted.reduce((sum, v) => sum + v * v, 0) / wanted.length);
  return got.reduce((worst, v, i) => Math.max(worst, Math.abs(v - wanted[i]!)), 0) / rms;
}

/** The sampler's own steps and those by its matrices, side by side, from the same numbers. */
function run(sampler: Sampler) {
  const steps = linearSteps(sampler)!;
  const width = 3 + steps.numHistory;
  let x = numbers(0, sampler.initNoiseSigma);
  let state: SamplerState | undefined;
  let terms: Float32Array[] = [x, ...Array.from({ length: width - 1 }, () => new Float32Array(LENGTH))];
  const found = [];
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const [modelOutput, noise] = [numbers(2 * call + 1), numbers(2 * call + 2)];
    const own = sampler.step(call, { x, modelOutput, noise, state });
    terms[1] = modelOutput;
    terms[2] = sampler.noiseDrawsAt(call) ? noise : new Float32Array(LENGTH);
    const rows = Array.from({ length: 2 + steps.numHistory }, (_, r) =>
      Float32Array.from({ length: LENGTH }, (_, i) =>
        terms.reduce((sum, term, k) => sum + steps.tables[call]![r * width + k]! * term[i]!, 0),
      ),
    );
    found.push({ x: distance(rows[0]!, own.x), denoised: distance(rows[1]!, own.denoised) });
    [x, state] = [own.x, own.state];
    terms = [rows[0]!, modelOutput, noise, ...rows.slice(2)];
  }
  return found;
}

describe("a sampler's calls as matrices", () => {
  test.each(samplerNames)("%s: lead where the sampler leads", (name) => {
    const found = run(createSampler(svdConfig, { name, steps: 7 }));
    for (const { x, denoised } of found) {
      expect(x).toBeLessThan(2e-5);
      expect(denoised).toBeLessThan(2e-5);
    }
  });

  test("higher orders keep more history", () => {
    const third = { ...svdConfig, _class_name: "UniPCMultistepScheduler", solver_order: 3 };
    const steps = linearSteps(createSampler(third, { steps: 8 }))!;
    expect(steps.numHistory).toBe(4);
    expect(linearSteps(createSampler(third, { steps: 8 }), 2)).toBeUndefined();
  });

  test("clipping is not linear", () => {
    const clipped = { ...svdConfig, _class_name: "DDIMScheduler", clip_sample: true, prediction_type: "epsilon" };
    expect(linearSteps(createSampler(clipped, { steps: 5 }))).toBeUndefined();
  });
});
