import { Device } from "@vd/kernels-native";
import { createSampler, linearSteps } from "@vd/sampling";
import { DeviceTeam } from "@vd/tensor";
import { expect, it } from "vitest";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import { planTeam } from "../../src/devices/team-stages";
import type { GenerationContext } from "../../src/generation/context";
import { makeModels } from "../../src/opening/models";
import { StageLayouts } from "../../src/stages/stage";
import { svdXt } from "../support/svd-xt";

const device = Device.cpu({ threads: 1 });
const components = svdXt();
const models = makeModels(components);
const sampler = createSampler(svdConfig, { steps: 25 });
const layouts = new StageLayouts();

/** What each of some devices does for 25 frames of 1024×576 in 16 bits and 25 steps. */
function planOf(size: number) {
  const team = new DeviceTeam(Array.from({ length: size }, (_, i) => ({ device, label: `cpu:${i}` })));
  const context = {
    ...{ team, device, components, models, layouts, options: {} },
    shape: { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, decodeChunk: undefined, dtype: "f16" },
    // All frames of a run at a time, whatever memory this machine has.
    checked: { outputType: "video", memory: "full", decodeChunk: 25 },
    sampling: { sampler, linear: linearSteps(sampler), stepNoise: "cpu" },
  };
  return planTeam(context as unknown as GenerationContext);
}

/** Bytes of a frame of each map that follows on the first or second half of a block, and of the last one. */
const MAPS = [5 * 72 * 128 * 512, 3 * 144 * 256 * 512, 3 * 288 * 512 * 256, 3 * 576 * 1024 * 128];
const NEIGHBOUR_BYTES = 2 * 2 * MAPS.reduce((sum, numbers) => sum + numbers) + 2 * 3 * 576 * 1024;

it("SVD-XT on two devices: half of the work each, and the bytes that docs/devices.md says", async () => {
  const two = await planOf(2);
  expect(two.map(({ rows, frames }) => [rows, frames])).toEqual([
    [[0], [0, 13]],
    [[1], [13, 25]],
  ]);
  const predictions = 25 * (2 * 25 * 72 * 128 * 4);
  expect(two.map(({ receivedBytes }) => receivedBytes)).toEqual(Array(2).fill(predictions + NEIGHBOUR_BYTES));
  const work = two.map(({ layouts: stages }) =>
    stages.reduce((sum, stage) => sum + stage.runs * stage.layouts.reduce((all, { cost }) => all + cost.flops, 0), 0),
  );
  expect(Math.max(...work) / (work[0]! + work[1]!)).toBeLessThan(0.503);
});
