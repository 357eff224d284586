import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import type { GenerateOptions, StableVideoDiffusionPipeline } from "../../src/index";
import { openTiny, QUICK } from "../support/tiny-model";

const OPTIONS = { ...QUICK, numFrames: 5, maxGuidance: 3 } satisfies GenerateOptions;
let two: StableVideoDiffusionPipeline;
beforeAll(async () => {
  two = await openTiny({ devices: ["cpu", "cpu"], threads: 2 });
});

describe("several devices refuse", () => {
  it.each([
    ["fewer calls", { fast: true }, "calls that are saved"],
    ["reused features", { featureInterval: 2 }, "calls that are saved"],
    ["several clips", { clipFrames: 3, overlap: 1 }, "a longer or steered video"],
    ["loops", { loop: true }, "a longer or steered video"],
    ["frames between frames", { interpolation: "latent" }, "a longer or steered video"],
  ] as const)("%s, before anything is computed", async (_, more, got) => {
    for (const work of [two.plan({ ...OPTIONS, ...more }), two.generate({ ...OPTIONS, ...more })])
      expect(await failureOf(work)).toMatchObject({ code: "unsupported", where: "devices", got });
  });
});
