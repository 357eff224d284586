import { VdError } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { svdConfig } from "../../../tooling/testing/svd-sampling";
import { createSampler, linearSteps, samplerNames, startStep } from "../src/index";

const LENGTH = 16;
const clean = Float32Array.from({ length: LENGTH }, (_, i) => Math.sin(i));
const noise = Float32Array.from({ length: LENGTH }, (_, i) => Math.cos(3 * i));

describe("the step to start at", () => {
  it("leaves the part of the steps that the strength says, at least one", () => {
    expect([1, 0.6, 0.5, 0.04, 0].map((strength) => startStep(25, strength))).toEqual([0, 10, 13, 24, 24]);
    for (const strength of [-0.1, 1.1, Number.NaN]) expect(() => startStep(25, strength)).toThrow("strength");
  });
});

describe.each(samplerNames)("%s", (name) => {
  const whole = createSampler(svdConfig, { name, steps: 9 });

  it("has the same calls from a step on, with its level's noise on the first sample", () => {
    const sampler = whole.startingAt(4);
    const first = whole.numModelCalls - sampler.numModelCalls;
    expect(whole.stepIndexOf(first)).toBe(4);
    expect(sampler.numSteps).toBe(5);
    expect(sampler.timesteps).toEqual(whole.timesteps.slice(first));
    expect([...sampler.sigmas]).toEqual([...whole.sigmas.subarray(first)]);
    for (let call = 0; call < sampler.numModelCalls; call++) {
      expect(sampler.inputScale(call)).toBe(whole.inputScale(call + first));
      expect(sampler.noiseDrawsAt(call)).toBe(whole.noiseDrawsAt(call + first));
      expect(sampler.stepIndexOf(call)).toBe(whole.stepIndexOf(call + first) - 4);
    }
    const noisy = clean.map((value, i) => value + Math.fround(sampler.sigmas[0]! * noise[i]!));
    expect(sampler.addNoise(clean, noise)).toEqual(noisy);
    expect(whole.addNoise(clean, noise, first)).toEqual(noisy);
    expect(sampler.initNoiseSigma).toBe(sampler.sigmas[0]);
  });

  it("needs nothing of the steps before, finds the data that a perfect model names, and steps on a device", () => {
    const sampler = whole.startingAt(5);
    expect(linearSteps(sampler)).toBeDefined();
    let x = sampler.addNoise(clean, noise);
    let state: Parameters<typeof sampler.step>[1]["state"];
    for (let call = 0; call < sampler.numModelCalls; call++) {
      const sigma = sampler.sigmas[call]!;
      const deviation = Math.sqrt(sigma * sigma + 1);
      // v of a network that knows the data.
      const modelOutput = x.map((value, i) => (value / (deviation * deviation) - clean[i]!) / (sigma / deviation));
      ({ x, state } = sampler.step(call, { x, modelOutput, noise, state }));
    }
    x.forEach((value, i) => {
      expect(value).toBeCloseTo(clean[i]!, 3);
    });
  });

  it("refuses steps that there are not, and noise of another length", () => {
    for (const step of [-1, 9, 0.5]) expect(() => whole.startingAt(step)).toThrow(VdError);
    expect(() => whole.addNoise(clean, noise.subarray(1))).toThrow("16 values");
    expect(whole.startingAt(0).initNoiseSigma).toBe(whole.initNoiseSigma);
  });
});
