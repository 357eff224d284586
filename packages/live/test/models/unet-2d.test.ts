import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openDevice } from "@vd/kernels-native";
import { conv, type Graph, layoutGraph, Plan, type Tensor, Weights } from "@vd/tensor";
import { expect, test } from "vitest";
import { parseUnet2dConfig, unet2d } from "../../src/index";
import { narrowConv } from "../../src/models/unet-2d/narrow-conv";
import { paddedConv } from "../../src/models/unet-2d/padded-conv";
import { TINY_LIVE } from "../support/tiny-live";

const stored = JSON.parse(readFileSync(join(TINY_LIVE, "unet/config.json"), "utf8"));
const weights = () => Weights.open(join(TINY_LIVE, "unet"));
const device = openDevice("cpu", { threads: 1 });

const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 1.7) + 0.3);

test.each([
  ["act_fn", "relu", /"silu"/],
  ["time_embedding_type", "fourier", /"positional"/],
  ["down_block_types", ["SkipDownBlock2D", "DownBlock2D", "DownBlock2D", "DownBlock2D"], /4 of DownBlock2D/],
  ["down_block_types", ["DownBlock2D"], /4 of DownBlock2D/],
  ["block_out_channels", [], /positive whole numbers/],
  ["norm_num_groups", 7, /divisor/],
  ["attention_head_dim", 7, /divisor/],
  ["layers_per_block", 1e9, /1 to 1024/],
  ["downsample_padding", 2, /0 or 1/],
  ["norm_eps", -1, /number in its range/],
  ["center_input_sample", "yes", /true or false/],
  ["mid_block_type", null, /./],
  ["resnet_time_scale_shift", "ada_group", /default or scale_shift/],
])("refuses %s of %j", (key, value, message) => {
  if (key === "mid_block_type") expect(parseUnet2dConfig({ ...stored, [key]: value }).midAttention).toBe(true);
  else expect(() => parseUnet2dConfig({ ...stored, [key]: value })).toThrow(message);
});

test("refuses a sample that does not halve on every level, and weights of another model", () => {
  const net = unet2d(weights(), parseUnet2dConfig(stored));
  const record = (dims: number[]) =>
    layoutGraph((g) => {
      const conditions = { timestep: g.input("t", [1, 1]), classes: g.input("c", [1, 1, 1, 6]) };
      net.forward(g, { sample: g.input("x", dims), embedding: net.embed(g, conditions) });
    });
  expect(() => record([1, 1, 20, 16, 15])).toThrow(/multiples of 8/);
  expect(() => record([1, 1, 16, 16, 14])).toThrow(/\[B,1,H,W,15\]/);
  expect(() => unet2d(weights(), parseUnet2dConfig({ ...stored, in_channels: 18 }))).toThrow(/conv_in.weight/);
});

test("the first convolution gives the same for samples with room for whole groups of channels", async () => {
  const w = weights().at("conv_in");
  const [height, width] = [6, 12];
  const padded = paddedConv(w, { cin: 15, cout: 24 });
  const build = (g: Graph) => {
    const plain = g.input("plain", [1, 1, height, width, 15]);
    const roomy = g.input("roomy", [1, 1, height, width, 16]);
    for (const [name, x] of Object.entries({ plain, roomy })) g.output(`y.${name}`, padded(g, x));
  };
  const plan = await Plan.load(device, layoutGraph(build));
  const x = numbers(height * width * 15);
  // What lies behind the channels that count is any finite number.
  const roomy = Float32Array.from({ length: height * width * 16 }, (_, i) =>
    i % 16 === 15 ? 7 : x[Math.floor(i / 16) * 15 + (i % 16)]!,
  );
  plan.writeSync("plain", x);
  plan.writeSync("roomy", roomy);
  await plan.run();
  const [one, other] = [plan.readSync("y.plain"), plan.readSync("y.roomy")];
  expect(Math.max(...one.map((value, i) => Math.abs(value - other[i]!)))).toBeLessThan(1e-5);
  expect(one.some((value) => Math.abs(value) > 0.01)).toBe(true);
  plan.freeSync();
});

test("the last convolution gives the same several pixels at a time", async () => {
  const w = weights().at("conv_out");
  const [height, width] = [6, 12];
  const layers = {
    plain: conv(w, { cin: 24, cout: 3, kernel: [1, 3, 3] }),
    wide: narrowConv(w, { cin: 24, cout: 3 }),
  };
  const build = (g: Graph) => {
    const x = g.input("x", [1, 1, height, width, 24]);
    const residual: Tensor = g.input("r", [1, 1, height, width, 3]);
    const epilogue = { residual, residualScale: 0.3, outScale: 1.7 };
    for (const [name, layer] of Object.entries(layers)) g.output(name, layer(g, x, epilogue));
  };
  const plan = await Plan.load(device, layoutGraph(build));
  plan.writeSync("x", numbers(height * width * 24));
  plan.writeSync("r", numbers(height * width * 3));
  await plan.run();
  const [plain, wide] = [plan.readSync("plain"), plan.readSync("wide")];
  expect(Math.max(...plain.map((value, i) => Math.abs(value - wide[i]!)))).toBeLessThan(1e-5);
  expect(plan.layout.graph.rows.map(({ outputs }) => outputs[0]!.dims[4])).toEqual([3, 12]);
  plan.freeSync();
});
