import type { Device } from "@vd/kernels-native";
import { Graph, layoutGraph, pausable } from "@vd/tensor";
import { expect, it } from "vitest";
import type { UnetInputs } from "../../src/models/index";
import type { Models } from "../../src/opening/models";
import { settleConvolutions } from "../../src/precision/convolutions";
import { predict, type StageShape } from "../../src/stages/definitions";

const KNOWN = [
  { name: "Hopper", computeCapability: "9.0" },
  { name: "Ada", computeCapability: "8.9" },
];

const constant = (g: Graph, ...dims: number[]) => g.constant(new Float32Array(dims.reduce((a, b) => a * b, 1)), dims);

/** A UNet of one norm and one 3x3 convolution. */
const unetOf = (channels: number) => ({
  crossWidth: 8,
  framesWidth: 8,
  forward: pausable(function* (g: Graph, { sample }: UnetInputs) {
    yield;
    const [weight, bias] = [constant(g, channels), constant(g, channels)];
    const x = g.groupNorm({ x: sample, weight, bias, groups: 32, eps: 1e-6, act: "silu" });
    return g.conv({ x, weight: constant(g, channels, channels, 1, 3, 3), padding: [0, 0, 1, 1, 1, 1] });
  }),
});

function recorded(convolutions: StageShape["convolutions"], channels = 512) {
  const unet = unetOf(channels) as unknown as Models["unet"];
  const shape = { rows: 1, numFrames: 4, convolutions } as StageShape;
  return function* (g: Graph) {
    const y = yield* predict(g, { unet } as Models, shape, g.input("x", [1, 4, 64, 64, channels]));
    g.output(
      "y",
      g.groupNorm({ x: y, weight: constant(g, channels), bias: constant(g, channels), groups: 32, eps: 1e-6 }),
    );
  };
}

function opsWith(convolutions: StageShape["convolutions"], dtype: "f16" | "f32" = "f16", channels = 512) {
  const g = new Graph({ dtype });
  for (const _ of recorded(convolutions, channels)(g));
  return g.rows.map(({ op }) => op);
}

it("records the UNet's convolutions as they come, or with Winograd's transforms", () => {
  expect(opsWith("direct")).toEqual(["group_norm", "conv", "group_norm"]);
  expect(opsWith("winograd")).toEqual(["group_norm_stats", "conv_winograd", "group_norm"]);
  expect(opsWith("compact")).toEqual(opsWith("winograd"));
  expect(opsWith("unet", "f16", 1280)).toEqual(opsWith("winograd", "f16", 1280));
  expect(opsWith("compact", "f16", 1280)).toEqual(opsWith("direct"));
  expect(opsWith("winograd", "f16", 1280)).toEqual(opsWith("winograd"));
  expect(opsWith("winograd", "f32")).toEqual(["group_norm", "conv", "group_norm"]);
});

it("counts filters beside their transforms, in the type that has them", () => {
  const memoryWith = (...given: Parameters<typeof opsWith>) =>
    layoutGraph(recorded(given[0]), { dtype: given[1] ?? "f16" }).memory;
  const [direct, winograd] = [memoryWith("direct"), memoryWith("winograd")];
  // Transforms have 36 numbers in 16 bits for 9 taps, whatever the file has the taps in.
  expect(winograd.transformedBytes).toBe(512 * 512 * 36 * 2);
  expect(winograd.weightBytes - winograd.transformedBytes).toBe(direct.weightBytes);
  expect(memoryWith("winograd", "f32")).toMatchObject({
    transformedBytes: 0,
    weightBytes: memoryWith("direct", "f32").weightBytes,
  });
});

const gpu = (name: string, freeGibibytes: number) =>
  ({ kind: "cuda", name, memory: async () => ({ freeBytes: freeGibibytes * 2 ** 30, residentBytes: 0 }) }) as Device;

it("takes transforms by itself on a Hopper GPU in float16 with all the memory of full speed", async () => {
  const hopper = { device: gpu("Hopper", 20), precision: "float16", memory: "full" } as const;
  expect(await settleConvolutions("auto", hopper, KNOWN)).toBe("winograd");
  expect(await settleConvolutions("direct", hopper, KNOWN)).toBe("direct");
  const others = [
    { device: gpu("Hopper", 9) },
    { device: gpu("Ada", 20) },
    { device: { kind: "cpu" } as Device },
    { precision: "bfloat16" },
    { memory: "low" },
    { memory: "lowest" },
  ] as const;
  for (const other of others) expect(await settleConvolutions("auto", { ...hopper, ...other }, KNOWN)).toBe("direct");
  expect(await settleConvolutions("winograd", { ...hopper, ...others[0] }, KNOWN)).toBe("winograd");
});

it("takes the fastest way that fits", async () => {
  const hopper = { device: gpu("Hopper", 20), precision: "float16", memory: "full" } as const;
  const looked: string[] = [];
  const settled = (...fitting: string[]) => {
    looked.length = 0;
    const fits = async (method: string) => fitting.includes(looked[looked.push(method) - 1]!);
    return settleConvolutions("auto", { ...hopper, fits }, KNOWN);
  };
  expect(await settled("winograd", "unet", "compact")).toBe("winograd");
  expect(looked).toEqual(["winograd"]);
  expect(await settled("unet", "compact")).toBe("unet");
  expect(looked).toEqual(["winograd", "unet"]);
  expect(await settled("compact")).toBe("compact");
  expect(await settled()).toBe("direct");
  expect(looked).toEqual(["winograd", "unet", "compact"]);
});
