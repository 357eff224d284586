import { expect, test } from "vitest";
import { consistencySteps, createSampler, linearSteps } from "../src/index";

const SD = { beta_start: 0.00085, beta_end: 0.012, beta_schedule: "scaled_linear" };

test.each(["epsilon", "v_prediction", "sample"])("are LCMScheduler's own, prediction of %s", (prediction_type) => {
  const config = { _class_name: "LCMScheduler", ...SD, prediction_type };
  const steps = consistencySteps(config, { steps: 4, strength: 0.8 });
  const sampler = createSampler(config, { steps: 4, strength: 0.8 });
  expect(steps.map(({ timestep }) => timestep)).toEqual([...sampler.timesteps]);
  // Of each call the next sample and the data, by sample, prediction and noise.
  const { tables } = linearSteps(sampler)!;
  for (const [i, { signal, noise, ofSample, ofPrediction }] of steps.entries()) {
    expect(signal ** 2 + noise ** 2).toBeCloseTo(1, 6);
    const next = steps[i + 1] ?? { signal: 1, noise: 0 };
    const wanted = [next.signal * ofSample, next.signal * ofPrediction, next.noise, ofSample, ofPrediction, 0];
    for (const [place, value] of wanted.entries()) expect(tables[i]![place]).toBeCloseTo(value, 3);
  }
});

test("give the data that one Euler step of a turbo model gives", () => {
  const config = { _class_name: "EulerDiscreteScheduler", ...SD, timestep_spacing: "trailing" };
  const [step] = consistencySteps(config, { steps: 1, strength: 1 });
  const sampler = createSampler(config, { steps: 1 });
  expect([step!.timestep]).toEqual([...sampler.timesteps]);
  // Euler's samples are data + σ · noise, with σ = noise / signal.
  const sigma = step!.noise / step!.signal;
  expect(sampler.sigmas[0]).toBeCloseTo(sigma, 3);
  const [x, prediction] = [0.7, -0.3];
  expect(step!.ofSample * x + step!.ofPrediction * prediction).toBeCloseTo(x / step!.signal - sigma * prediction, 4);
});

test("begin where the strength says, evenly", () => {
  const timesteps = (steps: number, strength: number) =>
    consistencySteps({ _class_name: "EulerDiscreteScheduler" }, { steps, strength }).map(({ timestep }) => timestep);
  expect(timesteps(4, 1)).toEqual([999, 749, 499, 249]);
  expect(timesteps(2, 0.5)).toEqual([499, 249]);
});

test.each([
  [{ steps: 0, strength: 1 }, /steps/],
  [{ steps: 1.5, strength: 1 }, /steps/],
  [{ steps: 1, strength: 0 }, /strength/],
  [{ steps: 1, strength: 2 }, /strength/],
  [{ steps: 51, strength: 1 }, /\[steps\] expected at most the 50 steps of the distillation, got 51/],
  // What leaves no timestep is the strength, not the one step.
  [
    { steps: 1, strength: 1e-9 },
    /\[strength\] expected about 0.02 or more, which leaves at least 1 of 50 timesteps, got 1e-9/,
  ],
  [{ steps: 4, strength: 0.06 }, /\[strength\] expected about 0.08 or more, .* 4 of 50 timesteps, got 0.06/],
])("refuse %j", (options, message) => {
  expect(() => consistencySteps({}, options)).toThrow(message);
});
