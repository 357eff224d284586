import { beforeAll, describe, expect, it } from "vitest";
import type { GenerationEstimate } from "../../src/index";
import { openTiny, QUICK } from "../support/tiny-model";

const OPTIONS = { ...QUICK, numFrames: 25, clipFrames: 25, width: 64, height: 64, maxGuidance: 3 };

describe("the plan of a generation on four devices", () => {
  let plan: GenerationEstimate;
  let one: GenerationEstimate;
  beforeAll(async () => {
    const four = await openTiny({ devices: ["cpu", "cpu", "cpu", "cpu"], threads: 4 });
    plan = await four.plan(OPTIONS);
    one = await (await openTiny()).plan(OPTIONS);
  });

  it("says who denoises which row and who decodes which frames", () => {
    expect(plan.devices!.map(({ device, rows, frames }) => [device, rows, frames])).toEqual([
      ["cpu:0", [0], [0, 7]],
      ["cpu:1", [1], [7, 13]],
      ["cpu:2", [], [13, 19]],
      ["cpu:3", [], [19, 25]],
    ]);
  });

  it("counts what devices send each other: predictions at each step, frames of maps between neighbours", () => {
    const [first, second, third, fourth] = plan.devices!.map(({ receivedBytes }) => receivedBytes);
    const prediction = 4 * 25 * 8 * 8 * 4;
    const frames = third! / 2;
    expect([first, second, third, fourth]).toEqual([
      OPTIONS.steps * prediction + frames,
      OPTIONS.steps * prediction + 2 * frames,
      2 * frames,
      frames,
    ]);
  });

  it("adds up to the work of one device, and to less memory and time for each", () => {
    const work = (name: string) =>
      plan.stages.filter((stage) => stage.name === name).reduce((sum, { flops, runs }) => sum + flops * runs, 0);
    const alone = (name: string) => one.stages.find((stage) => stage.name === name)!;
    expect(work("denoise") / (alone("denoise").flops * alone("denoise").runs)).toBeCloseTo(1, 2);
    // Statistics of norms, and the norms of the neighbours' frames.
    expect(work("decode") / alone("decode").flops).toBeGreaterThan(1);
    expect(work("decode") / alone("decode").flops).toBeLessThan(1.05);
    for (const { share, estimatedUs, peakBytes } of plan.devices!) {
      expect(share).toBeCloseTo(estimatedUs / plan.estimatedUs, 6);
      expect(share).toBeLessThanOrEqual(1 + 1e-9);
      expect(peakBytes).toBeLessThan(one.peakBytes);
    }
    expect(plan.weightBytes).toBeLessThanOrEqual(1.1 * one.weightBytes);
    expect(plan.stages.map(({ device }) => device)).toContain("cpu:3");
  });
});
