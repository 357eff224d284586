import { describe, expect, test } from "vitest";
import { svdConfig } from "../../../tooling/testing/svd-sampling";
import { limiterOf } from "../src/arithmetic/limiter";
import { createSampler, type Sampler, type SamplerState, samplerNames } from "../src/index";
import { type LinearSteps, linearSteps, stepsFromDenoised, withDataColumn } from "../src/linear-steps";

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

/** One call by its matrix: the rows of the results from its terms, with the data prediction kept within bounds. */
function byTable({ numHistory, hasData, bounds, tables }: LinearSteps, call: number, terms: readonly Float32Array[]) {
  const all = [...terms, ...(hasData ? [new Float32Array(LENGTH)] : [])];
  const row = (r: number) =>
    Float32Array.from({ length: LENGTH }, (_, i) =>
      all.reduce((sum, term, k) => sum + tables[call]![r * all.length + k]! * term[i]!, 0),
    );
  if (hasData) all[all.length - 1] = limiterOf(bounds)({ data: row(2 + numHistory), dtype: "float32" }).data;
  return Array.from({ length: 2 + numHistory }, (_, r) => row(r));
}

/** The sampler's own steps and those by its matrices, side by side, from the same numbers. */
function run(sampler: Sampler, steps = linearSteps(sampler)!) {
  let x = numbers(0, sampler.initNoiseSigma);
  let state: SamplerState | undefined;
  let history = Array.from({ length: steps.numHistory }, () => new Float32Array(LENGTH));
  const found = [];
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const [modelOutput, noise] = [numbers(2 * call + 1), numbers(2 * call + 2)];
    const own = sampler.step(call, { x, modelOutput, noise, state });
    const added = sampler.noiseDrawsAt(call) ? noise : new Float32Array(LENGTH);
    const rows = byTable(steps, call, [x, modelOutput, added, ...history]);
    found.push({ x: distance(rows[0]!, own.x), denoised: distance(rows[1]!, own.denoised) });
    [x, state] = [own.x, own.state];
    history = rows.slice(2);
  }
  return found;
}

/** Expects that the matrices lead where the sampler leads. */
function expectSame(found: ReturnType<typeof run>): void {
  for (const { x, denoised } of found) {
    expect(x).toBeLessThan(2e-5);
    expect(denoised).toBeLessThan(2e-5);
  }
}

const trained = { beta_schedule: "scaled_linear", prediction_type: "epsilon" };
const thresholded = { ...trained, thresholding: true, dynamic_thresholding_ratio: 0.8, sample_max_value: 3 };
/** Configs of every class that bounds its data prediction. */
const bounded = [
  ...["DDIMScheduler", "DDPMScheduler", "LCMScheduler"].flatMap((name) => [
    { ...trained, _class_name: name, clip_sample: true },
    { ...thresholded, _class_name: name },
  ]),
  { ...trained, _class_name: "HeunDiscreteScheduler", clip_sample: true },
  ...["DPMSolverMultistepScheduler", "DPMSolverSinglestepScheduler", "DEISMultistepScheduler"].map((name) => ({
    ...{ ...thresholded, _class_name: name },
  })),
  {
    ...thresholded,
    _class_name: "DPMSolverMultistepScheduler",
    algorithm_type: "sde-dpmsolver",
    final_sigmas_type: "sigma_min",
  },
  { ...thresholded, _class_name: "UniPCMultistepScheduler" },
  { ...thresholded, _class_name: "EDMDPMSolverMultistepScheduler" },
];

describe("a sampler's calls as matrices", () => {
  test.each(samplerNames)("%s: lead where the sampler leads", (name) => {
    expectSame(run(createSampler(svdConfig, { name, steps: 7 })));
  });

  test.each(samplerNames)("%s: with a column for the data they still do", (name) => {
    const sampler = createSampler(svdConfig, { name, steps: 7 });
    const steps = withDataColumn(linearSteps(sampler)!);
    expect(steps.hasData).toBe(true);
    for (const table of steps.tables) expect(table[1]).toBe(0);
    expectSame(run(sampler, steps));
    expect(withDataColumn(steps)).toBe(steps);
  });

  test.each(bounded)("$_class_name, bounded: lead where the sampler leads", (config) => {
    const sampler = createSampler(config, { steps: 5 });
    const steps = linearSteps(sampler)!;
    expect(steps.bounds).toEqual(sampler.bounds);
    expect(steps.bounds?.kind).toBe("thresholding" in config ? "threshold" : "clip");
    expectSame(run(sampler, steps));
  });

  test("higher orders keep more history", () => {
    const third = { ...svdConfig, _class_name: "UniPCMultistepScheduler", solver_order: 3 };
    const steps = linearSteps(createSampler(third, { steps: 8 }))!;
    expect(steps.numHistory).toBe(4);
    expect(linearSteps(createSampler(third, { steps: 8 }), 2)).toBeUndefined();
  });

  test("thresholding of parts on their own has no matrices", () => {
    const sampler = createSampler({ ...thresholded, _class_name: "DDIMScheduler" }, { steps: 5, batch: 2 });
    expect(linearSteps(sampler)).toBeUndefined();
  });

  test.each(["euler", "heun", "dpmpp_2m", "unipc", "lms", "euler_a", "animatelcm", "tcd"])(
    "%s from its own data prediction leads where it leads from the model's output",
    (name) => {
      const sampler = createSampler(svdConfig, { name, steps: 6 });
      const steps = linearSteps(sampler)!;
      const fromDenoised = stepsFromDenoised(steps);
      for (let call = 0; call < sampler.numModelCalls; call++) {
        const terms = Array.from({ length: 3 + steps.numHistory }, (_, i) => numbers(i + 10 * call));
        const wanted = byTable(steps, call, terms);
        const found = byTable(fromDenoised, call, [terms[0]!, wanted[1]!, ...terms.slice(2)]);
        for (const [row, values] of found.entries()) {
          const rms = Math.hypot(...wanted[row]!) + Math.hypot(...terms[0]!);
          if (rms > 0)
            for (const [i, v] of values.entries()) expect(Math.abs(v - wanted[row]![i]!) / rms).toBeLessThan(2e-5);
        }
      }
    },
  );

  test("a bounded data prediction cannot be given", () => {
    const steps = linearSteps(createSampler(bounded[0]!, { steps: 4 }))!;
    expect(() => stepsFromDenoised(steps)).toThrow("expected a sampler that does not bound its data prediction");
  });

  test("a data prediction that ignores the model has no column", () => {
    const steps = linearSteps(createSampler(svdConfig, { steps: 2 }))!;
    const blind = { ...steps, tables: steps.tables.map((table) => table.map((v, i) => (i === 4 ? 0 : v))) };
    expect(() => withDataColumn(blind)).toThrow("[withDataColumn call 0] expected a data prediction that depends on");
  });
});
