import { createSampler, samplerNames } from "@vd/sampling";
import { describe, expect, it } from "vitest";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import { HostStepper } from "../../src/denoising/host-stepper";
import { packValues, type StepperMemory, unpackValues } from "../../src/denoising/stepper-memory";

/** What comes back of a file: the same bytes elsewhere, and the values as JSON. */
const throughDisk = ({ tensors, values }: StepperMemory): StepperMemory => ({
  tensors: Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [name, { ...tensor, bytes: tensor.bytes.slice() }]),
  ),
  values: JSON.parse(JSON.stringify(values)) as unknown,
});

describe("packValues", () => {
  it("gives back nested values with their arrays, bit by bit", () => {
    const values = {
      x: Float32Array.of(1, -0, Number.NaN, 1e-40),
      history: [{ data: Float32Array.of(3), dtype: "float16" }, null],
      numbers: [-0, Number.POSITIVE_INFINITY, 0.1],
    };
    expect(unpackValues(throughDisk(packValues(values)))).toEqual(values);
  });
});

describe("a stepper on the host", () => {
  it.each(samplerNames)("goes on with %s from what another one has kept", async (name) => {
    const sampler = createSampler(svdConfig, { name, steps: 4, dtype: "float16" });
    const drawn = (call: number) => Float32Array.of(0.5, -1, 0.25, call);
    const stepper = (from: number, memory?: StepperMemory) => {
      let call = from;
      return new HostStepper({
        ...{ sampler, memory, latents: Float32Array.of(4, 3, 2, 1) },
        predict: async ({ latents }) => latents.map((value) => Math.fround(value / 4)),
        noise: async () => drawn(call++),
      });
    };
    const whole = stepper(0);
    let numDraws = 0;
    let kept: StepperMemory | undefined;
    const half = 2;
    for (let call = 0; call < sampler.numModelCalls; call++) {
      if (call === half) kept = throughDisk(await whole.save());
      if (call < half && sampler.noiseDrawsAt(call)) numDraws++;
      await whole.advance(call, 1);
    }
    const other = stepper(numDraws, kept);
    for (let call = half; call < sampler.numModelCalls; call++) await other.advance(call, 1);
    expect(await other.lastLatents()).toEqual(await whole.lastLatents());
  });
});
