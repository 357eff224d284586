import { countOf, type Device, OPS, openDevice } from "@vd/kernels-native";
import { type GraphOptions, layoutGraph, type Row, type Tensor } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { makeModels } from "../../src/opening/models";
import { type ObservedLayer, observedUnet } from "../../src/precision/calibration/observe-layers";
import { normsAreFused, unetRewritings } from "../../src/precision/convolutions";
import { openEightBits } from "../../src/precision/eight-bits";
import { Smoothing } from "../../src/precision/layer-scales";
import { modelsWithLayers } from "../../src/precision/models-with-layers";
import { denoiseStage, type StageShape } from "../../src/stages/definitions";
import { svdXt } from "../support/svd-xt";

const KNOWN = [
  { name: "Hopper", computeCapability: "9.0" },
  { name: "Ada", computeCapability: "8.9" },
];

const components = svdXt();
const models = makeModels(components);
const SHAPE: StageShape = { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, decodeChunk: undefined };

/** Norms of a transformer's only layer: two of its spatial block, three of its temporal one. */
const NORMS = 5;
/** Transformers of all levels, and of the level with 320 channels. */
const TRANSFORMERS = 16;
const OF_320_CHANNELS = 5;

/** A call of the denoiser as it is recorded. */
function layoutWith(more: Partial<StageShape>, options: GraphOptions = {}, recorded = models) {
  const dtype = options.dtype ?? "f16";
  return layoutGraph(denoiseStage(recorded, { ...SHAPE, dtype, ...more }).build, { dtype, ...options });
}

type Ops = { graph: { rows: readonly { op: string }[] } };
const count = ({ graph }: Ops, op: string) => graph.rows.filter((row) => row.op === op).length;

/** Operands and results of a row by name. */
function operandsOf({ op, inputs, outputs }: Row): Record<string, Tensor | undefined> {
  const names = (of: object) => Object.keys(of);
  const entries = [
    ...names(OPS[op].inputs).map((name, i) => [name, inputs[i]] as const),
    ...names(OPS[op].outputs).map((name, i) => [name, outputs[i]] as const),
  ];
  return Object.fromEntries(entries);
}

/** What computes layers in 8 bits, without a calibration table. */
const openedFor = (precision: "fp8" | "int8") =>
  openEightBits({
    ...{ components, layers: { precision, calibration: "none" } },
    ...{ device: openDevice("cpu", { threads: 1 }), denoiser: undefined },
  });

describe("LayerNorms of the UNet", () => {
  it("are part of the layers that read them where tokens have 320 channels", () => {
    const [apart, fused] = [layoutWith({}), layoutWith({ fusedLayerNorm: true })];
    expect([count(apart, "layer_norm_linear"), count(apart, "layer_norm")]).toEqual([0, NORMS * TRANSFORMERS]);
    expect(count(fused, "layer_norm_linear")).toBe(NORMS * OF_320_CHANNELS);
    expect(count(fused, "layer_norm")).toBe(NORMS * (TRANSFORMERS - OF_320_CHANNELS));
    expect(fused.cost.flops).toBe(apart.cost.flops - NORMS * OF_320_CHANNELS * 8 * 2 * 25 * 72 * 128 * 320);
    const layers = fused.graph.rows.filter(({ op }) => op === "layer_norm_linear").map(({ name }) => name);
    const block = "down_blocks.0.attentions.0";
    expect(layers.slice(0, NORMS)).toEqual([
      `${block}.transformer_blocks.0.attn1.qkv`,
      `${block}.transformer_blocks.0.ff.net.0.proj`,
      `${block}.temporal_transformer_blocks.0.ff_in.net.0.proj`,
      `${block}.temporal_transformer_blocks.0.attn1.qkv`,
      `${block}.temporal_transformer_blocks.0.ff.net.0.proj`,
    ]);
  });

  it("are part of them beside Winograd's transforms, and where rows of guidance follow each other", () => {
    const winograd = layoutWith({ fusedLayerNorm: true, convolutions: "unet" });
    expect(count(winograd, "layer_norm_linear")).toBe(NORMS * OF_320_CHANNELS);
    expect(count(winograd, "conv_winograd")).toBe(count(layoutWith({ convolutions: "unet" }), "conv_winograd"));
    const apart = layoutWith({ fusedLayerNorm: true, rowsApart: true });
    expect(count(apart, "layer_norm_linear")).toBe(2 * NORMS * OF_320_CHANNELS);
  });

  it("stay calls of their own in float32", () => {
    expect(count(layoutWith({ fusedLayerNorm: true }, { dtype: "f32" }), "layer_norm_linear")).toBe(0);
  });

  it("let every tensor that has a name be kept", () => {
    const kept = ({ graph }: ReturnType<typeof layoutWith>) => [...graph.outputs.keys()].sort();
    const taps = new Set(["*"]);
    const fused = layoutWith({ fusedLayerNorm: true }, { taps });
    expect(kept(fused)).toEqual(kept(layoutWith({}, { taps })));
    expect(count(fused, "layer_norm_linear")).toBeGreaterThan(0);
  });

  it("let what layers take be observed, which they then read by themselves", () => {
    expect(count(layoutWith({ fusedLayerNorm: true }), "layer_norm_linear")).toBeGreaterThan(0);
    const observed = (fusedLayerNorm: boolean) => {
      const found = new Map<string, ObservedLayer>();
      const observing = { ...models, unet: observedUnet(models.unet, found) };
      const layout = layoutWith({ fusedLayerNorm }, {}, observing);
      return { layout, layers: [...found.keys()] };
    };
    const [fused, apart] = [observed(true), observed(false)];
    expect(fused.layers).toEqual(apart.layers);
    expect([...fused.layout.graph.outputs.keys()]).toEqual([...apart.layout.graph.outputs.keys()]);
  });

  it("leave codes for layers in integers, as they do without, and become part of those that stay", async () => {
    const eightBits = await openedFor("int8");
    const ops = (fusedLayerNorm: boolean) =>
      layoutWith({ fusedLayerNorm }, {}, modelsWithLayers(models, eightBits)).graph.rows.map(({ op }) => op);
    const fused = ops(true).flatMap((op) => (op === "layer_norm_linear" ? ["layer_norm", "linear"] : [op]));
    expect(ops(true)).toEqual(expect.arrayContaining(["layer_norm_q8", "layer_norm_linear"]));
    expect(fused).toEqual(ops(false));
  });

  it("are part of layers in float8 where tokens have 320 channels, and leave codes elsewhere", async () => {
    const eightBits = await openedFor("fp8");
    const layout = layoutWith({ fusedLayerNorm: true }, {}, modelsWithLayers(models, eightBits));
    // Queries, keys and values of the spatial and the temporal block; three feed-forward layers.
    expect(count(layout, "layer_norm_linear_q8")).toBe(2 * OF_320_CHANNELS);
    expect(count(layout, "layer_norm_linear_q8_codes")).toBe(3 * OF_320_CHANNELS);
    expect(count(layout, "layer_norm_q8")).toBe(NORMS * (TRANSFORMERS - OF_320_CHANNELS));
    expect(count(layout, "layer_norm") + count(layout, "layer_norm_linear")).toBe(0);
    const inside = layout.graph.rows.filter(({ op }) => op.startsWith("layer_norm_linear_q8")).map(operandsOf);
    expect(new Set(inside.map(({ x, weight }) => `${x!.dtype} ${weight!.dtype}`))).toEqual(new Set(["f16 f8e4m3"]));
  });

  it("stay in front of layers whose channels smoothing divides", async () => {
    const eightBits = (await openedFor("fp8"))!;
    const layer = "down_blocks.0.attentions.0.transformer_blocks.0.attn1.qkv";
    const table = new Map([[layer, { f8e4m3: { largest: 4, error: 0, exponents: new Int8Array(320).fill(1) } }]]);
    eightBits.model.smoothing = new Smoothing(table);
    const layout = layoutWith({ fusedLayerNorm: true }, {}, modelsWithLayers(models, eightBits));
    expect(count(layout, "layer_norm_linear_q8")).toBe(2 * OF_320_CHANNELS - 1);
    expect(layout.graph.rows.find(({ name }) => name === layer)?.op).toBe("layer_norm_linear");
  });

  it("round with one scale for all tokens in float8, with one for each in integers", async () => {
    const scalesOf = async (precision: "fp8" | "int8") => {
      const eightBits = await openedFor(precision);
      const { rows } = layoutWith({ fusedLayerNorm: true }, {}, modelsWithLayers(models, eightBits)).graph;
      const norms = rows.filter(({ op }) => op === "layer_norm_q8").map(operandsOf);
      // Values and gates of four times the channels each.
      const gated = rows
        .filter(({ op }) => /^(layer_norm_)?linear_q8/.test(op))
        .map(operandsOf)
        .filter(({ weight }) => weight!.dims[0] === 8 * weight!.dims[1]!);
      expect(norms.length).toBeGreaterThan(2 * TRANSFORMERS);
      // Those of integers that nobody asks for codes stay in 16 bits at the level with 320 channels.
      expect(gated).toHaveLength(3 * (precision === "fp8" ? TRANSFORMERS : TRANSFORMERS - OF_320_CHANNELS));
      return {
        norms: norms.map(({ yScale, scales }) => [yScale !== undefined, scales !== undefined]),
        gated: gated.map(({ xScale, normScale, weightScale }) => [
          countOf((xScale ?? normScale)!.dims),
          countOf(weightScale!.dims),
        ]),
      };
    };
    const [floats, integers] = [await scalesOf("fp8"), await scalesOf("int8")];
    expect(new Set(floats.norms.map(String))).toEqual(new Set(["true,false"]));
    expect(new Set(floats.gated.map(String))).toEqual(new Set(["1,1"]));
    expect(new Set(integers.norms.map(String))).toEqual(new Set(["false,true"]));
    expect(integers.gated.every(([tokens, rows]) => tokens! > 1 && rows! > 1)).toBe(true);
  });
});

it("norms are fused on a Hopper GPU in 16 bits", () => {
  const on = (name: string, precision: "float16" | "bfloat16" | "float32") =>
    normsAreFused({ kind: name === "cpu" ? "cpu" : "cuda", name } as Device, precision, KNOWN);
  expect([on("Hopper", "float16"), on("Hopper", "bfloat16")]).toEqual([true, true]);
  expect([on("Hopper", "float32"), on("Ada", "float16"), on("cpu", "float16")]).toEqual([false, false, false]);
});

it("a UNet's calls are recorded as they come unless something was asked for", () => {
  expect(unetRewritings({})).toEqual([]);
  expect(unetRewritings({ convolutions: "direct", fusedLayerNorm: false })).toEqual([]);
  expect(unetRewritings({ convolutions: "unet", fusedLayerNorm: true })).toHaveLength(2);
});
