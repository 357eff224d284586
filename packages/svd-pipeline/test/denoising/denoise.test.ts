import { createSampler } from "@vd/sampling";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import { denoise, type Stepper } from "../../src/denoising/denoise";
import { HostStepper } from "../../src/denoising/host-stepper";

const LATENTS = new Float32Array(4).fill(1);

/** A stepper that notes its calls. */
function noting(notes: string[]): Stepper {
  let last = -1;
  return {
    async advance(call, step) {
      last = call;
      notes.push(`call ${call} of step ${step}`);
    },
    denoised: async () => Float32Array.of(last),
    lastLatents: async () => Float32Array.of(last, last),
    latentsNow: async () => Float32Array.of(last, last),
    replaceLatents: async ([value], nextCall) => {
      notes.push(`${value} before call ${nextCall}`);
    },
    save: async () => ({ tensors: {}, values: last }),
  };
}

describe("denoise", () => {
  it("begins at the call that comes next, and says with each step what that goes on from", async () => {
    const sampler = createSampler(svdConfig, { name: "heun", steps: 3 });
    const notes: string[] = [];
    await denoise(noting(notes), sampler, {
      firstCall: 2,
      onStep: async ({ step, nextCall, save }) => {
        notes.push(`step ${step}: ${nextCall} comes next, after ${(await save!()).values}`);
      },
    });
    expect(notes).toEqual([
      ...["call 2 of step 2", "call 3 of step 2", "step 2: 4 comes next, after 3"],
      ...["call 4 of step 3", "step 3: 5 comes next, after 4"],
    ]);
  });

  it("reports a step after its last call, with the guess of that call, and ends with the latents", async () => {
    const sampler = createSampler(svdConfig, { name: "heun", steps: 2 });
    const notes: string[] = [];
    const result = await denoise(noting(notes), sampler, {
      onStep: async ({ step, stepUs, denoised }) => {
        expect(stepUs).toBeGreaterThanOrEqual(0);
        notes.push(`step ${step} guesses ${await denoised()}`);
      },
    });
    // Heun's last step needs one call, the others two.
    expect(notes).toEqual([
      ...["call 0 of step 1", "call 1 of step 1", "step 1 guesses 1"],
      ...["call 2 of step 2", "step 2 guesses 2"],
    ]);
    expect([...result]).toEqual([2, 2]);
  });
});

it("hands the latents after a step to who asks for them, and takes others for the next call", async () => {
  const sampler = createSampler(svdConfig, { name: "heun", steps: 2 });
  const notes: string[] = [];
  await denoise(noting(notes), sampler, {
    onStep: async ({ step, timestep, latents, replaceLatents }) => {
      notes.push(`step ${step} at ${timestep.toFixed(2)} has ${await latents()}`);
      await replaceLatents(Float32Array.of(9));
    },
  });
  expect(notes.filter((note) => !note.startsWith("call"))).toEqual([
    `step 1 at ${sampler.modelTimestep(1).toFixed(2)} has 1,1`,
    "9 before call 2",
    `step 2 at ${sampler.modelTimestep(2).toFixed(2)} has 2,2`,
    "9 before call 3",
  ]);
});

describe("the host stepper", () => {
  const stepperOf = (value: number, name = "euler_a") => {
    const sampler = createSampler(svdConfig, { name, steps: 2 });
    const draws: number[] = [];
    const noise = async () => {
      draws.push(LATENTS.length);
      return new Float32Array(LATENTS.length);
    };
    const predict = async () => new Float32Array(LATENTS.length).fill(value);
    return { sampler, draws, stepper: new HostStepper({ predict, sampler, latents: LATENTS, noise }) };
  };

  it("draws noise for the calls that add some, and no other", async () => {
    const { sampler, draws, stepper } = stepperOf(0);
    await denoise(stepper, sampler, { onStep: async () => {} });
    const calls = Array.from({ length: sampler.numModelCalls }, (_, call) => call);
    expect(draws).toHaveLength(calls.filter((call) => sampler.noiseDrawsAt(call)).length);
    expect(draws.length).toBeGreaterThan(0);
    const plain = stepperOf(0, "euler");
    await denoise(plain.stepper, plain.sampler, { onStep: async () => {} });
    expect(plain.draws).toEqual([]);
  });

  it("goes on from latents that are put in place of its own, and hands out copies", async () => {
    const { stepper } = stepperOf(0, "euler");
    const given = Float32Array.of(4, 3, 2, 1);
    await stepper.replaceLatents(given);
    given.fill(0);
    (await stepper.latentsNow()).fill(7);
    expect([...(await stepper.lastLatents())]).toEqual([4, 3, 2, 1]);
  });

  it("refuses predictions that are not finite, and names the step", async () => {
    const { sampler, stepper } = stepperOf(Number.NaN, "euler");
    const error = await failureOf(denoise(stepper, sampler, { onStep: async () => {} }));
    expect(error).toMatchObject({ code: "weights", where: "denoise step 1", expected: "finite latents" });
  });
});
