import { layoutGraph } from "@vd/tensor";
import { expect, test } from "vitest";
import { type RandomLayout, randomDiffusionModel, recordRandomNetwork } from "../../src/index";

/** Of the published models: parameters of the denoiser, and operations of a call for two pictures of 64 × 64 latents. */
const PUBLISHED: Readonly<Record<RandomLayout, { parameters: number; teraflop: number }>> = {
  sd15: { parameters: 859_520_964, teraflop: 1.61 },
  "sd-turbo": { parameters: 865_910_724, teraflop: 1.61 },
};

test.each(Object.entries(PUBLISHED))("%s has the published layout's size", (name, { parameters, teraflop }) => {
  const layout = layoutGraph((g) => recordRandomNetwork(g, name as RandomLayout, { seed: 0, pictures: 2, side: 64 }));
  expect(layout.memory.weightBytes / 2).toBe(parameters);
  expect(layout.cost.flops / 1e12).toBeCloseTo(teraflop, 1);
});

test("a stream of a random model needs no files", () => {
  const { info, codec, text } = randomDiffusionModel("sd-turbo", 0);
  expect(info).toMatchObject({ name: "random sd-turbo", width: 512, height: 512 });
  expect([codec.factor, codec.latentChannels, text.config.hiddenSize]).toEqual([8, 4, 1024]);
});
