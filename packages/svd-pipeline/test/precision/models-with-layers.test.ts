import { Graph, pausable } from "@vd/tensor";
import { expect, it } from "vitest";
import type { UnetInputs } from "../../src/models/index";
import type { Models } from "../../src/opening/models";
import { modelsWithLayers } from "../../src/precision/models-with-layers";

const constant = (g: Graph, ...dims: number[]) => g.constant(new Float32Array(dims.reduce((a, b) => a * b, 1)), dims);

/** A UNet of one norm and one 3x3 convolution of 512 channels. */
const unet = {
  forward: pausable(function* (g: Graph, { sample }: UnetInputs) {
    yield;
    const [weight, bias] = [constant(g, 512), constant(g, 512)];
    const x = g.groupNorm({ x: sample, weight, bias, groups: 32, eps: 1e-6, act: "silu" });
    return g.conv({ x, weight: constant(g, 512, 512, 1, 3, 3), padding: [0, 0, 1, 1, 1, 1] });
  }),
} as unknown as Models["unet"];

function opsWith(convolutions: "direct" | "winograd", dtype: "f16" | "f32" = "f16") {
  const g = new Graph({ dtype });
  const sample = g.input("x", [1, 4, 64, 64, 512]);
  const { unet: changed } = modelsWithLayers({ unet } as Models, undefined, { convolutions });
  const y = changed.forward(g, { sample } as UnetInputs);
  g.output("y", g.groupNorm({ x: y, weight: constant(g, 512), bias: constant(g, 512), groups: 32, eps: 1e-6 }));
  return g.rows.map(({ op }) => op);
}

it("records the UNet's convolutions as they come, or with Winograd's transforms", () => {
  expect(opsWith("direct")).toEqual(["group_norm", "conv", "group_norm"]);
  expect(opsWith("winograd")).toEqual(["group_norm_stats", "conv_winograd", "group_norm"]);
  expect(opsWith("winograd", "f32")).toEqual(["group_norm", "conv", "group_norm"]);
});
