import { type Device, openDevice, VdError } from "@vd/kernels-native";
import { layoutGraph } from "@vd/tensor";
import * as vae from "@vd/vae-opt";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import {
  denoiseStage,
  type EightBitPrecision,
  type ModelComponents,
  makeModels,
  openModelFolder,
} from "../../src/index";
import type { EightBitModel } from "../../src/precision/eight-bit-recorder";
import { openEightBits, planOf } from "../../src/precision/eight-bits";
import {
  LEAST_ATTENTION_TOKENS,
  LEAST_ATTENTION_TOKENS_IN_CODES,
  PRECISION_PLANS,
  type PrecisionPlan,
} from "../../src/precision/layer-kinds";
import { Smoothing } from "../../src/precision/layer-scales";
import { modelsWithLayers } from "../../src/precision/models-with-layers";
import { decodeStage, type StageShape } from "../../src/stages/definitions";
import { openTiny, QUICK, TINY_SVD } from "../support/tiny-model";

const SHAPE: StageShape = { numFrames: 2, width: 64, height: 64, factor: 8, rows: 2, decodeChunk: undefined };
const cpu = openDevice("cpu", { threads: 2 });

let components: ModelComponents;
beforeAll(async () => {
  components = await openModelFolder(TINY_SVD);
});
afterEach(() => vi.restoreAllMocks());

const opened = (precision: EightBitPrecision) =>
  openEightBits({ components, layers: { precision, calibration: "none" }, device: cpu, denoiser: undefined });

/** The rows of a call of the denoiser: op, name and the type of the weight. */
async function rowsOf(precision: EightBitPrecision | "full", shape = SHAPE, plan?: PrecisionPlan) {
  const models = makeModels(components);
  const eightBits = precision === "full" ? undefined : await opened(precision);
  if (eightBits && plan) eightBits.model.plan = plan;
  const { build } = denoiseStage(modelsWithLayers(models, eightBits), shape);
  return layoutGraph(build).graph.rows;
}

const BLOCK = "down_blocks.0.attentions.0";
const LAYERS = [
  `${BLOCK}.transformer_blocks.0.attn1.qkv`,
  `${BLOCK}.transformer_blocks.0.ff.net.0.proj`,
  `${BLOCK}.transformer_blocks.0.ff.net.2`,
  `${BLOCK}.temporal_transformer_blocks.0.ff_in.net.0.proj`,
  `${BLOCK}.temporal_transformer_blocks.0.ff_in.net.2`,
  "down_blocks.0.resnets.0.temporal_res_block.conv1",
];

/** True for a layer with weights in 8 bits: norms only leave codes for it. */
const isLayer = ({ op }: { op: string }) => /_q8/.test(op) && !op.includes("norm");

/** Channels that a layer takes. */
const feedForwardWidth = (name: string): number =>
  layoutGraph(denoiseStage(makeModels(components), SHAPE).build)
    .graph.rows.find((row) => row.name === name)!
    .inputs[0]!.dims.at(-1)!;

describe("layers in 8 bits", () => {
  it.each([
    ["fp8", ["f8e4m3", "f8e4m3", "f8e4m3", "f8e4m3", "f8e4m3", "f8e4m3"]],
    ["int8", ["i8", "i8", "i8", "i8", "i8", "i8"]],
    ["mixed8", ["i8", "i8", "i8", "i8", "i8", "f8e4m3"]],
  ] as const)("have the types of %s", async (precision, types) => {
    const rows = await rowsOf(precision);
    const typeOf = (name: string) =>
      rows
        .find((row) => row.name === name && isLayer(row))
        ?.inputs.find((t) => t?.storage.kind === "weights" && t.dtype !== "f32")?.dtype;
    expect(LAYERS.map(typeOf)).toEqual(types);
  });

  it("are those behind a LayerNorm or a gate and convolutions over frames; the first, the last and small ones stay", async () => {
    const rows = await rowsOf("mixed8");
    const eight = rows.filter(isLayer).map(({ name }) => name);
    const known = /\.(attn1\.qkv|ff(_in)?\.net\.(0\.proj|2)|temporal_res_block\.conv[12])$/;
    expect(eight.filter((name) => !known.test(name))).toEqual([]);
    const rest = rows.filter(({ op }) => op === "linear" || op === "conv").map(({ name }) => name);
    expect(rest.filter((name) => known.test(name))).toEqual([]);
    const stay = ["conv_in", "conv_out", "time_embedding.linear_1", `${BLOCK}.proj_in`];
    for (const name of stay) expect(rest.join(" ")).toContain(name);
    expect(rows.some(({ op }) => op === "attention_q8")).toBe(false);
  });

  it("are not those that gain nothing: of many rows and few channels, attention of few tokens", async () => {
    const large = { ...SHAPE, numFrames: 4, width: 1024, height: 1024 };
    const rows = await rowsOf("fp8", large, PRECISION_PLANS.fp8);
    const opOf = (name: string) => rows.find((row) => row.name === name && !/quantize|norm/.test(row.op))?.op;
    expect(opOf(`${BLOCK}.transformer_blocks.0.ff.net.0.proj`)).toBe("linear_q8_codes");
    expect(opOf(`${BLOCK}.transformer_blocks.0.ff.net.2`)).toBe("linear_q8");
    const integers = await rowsOf("int8", large, PRECISION_PLANS.int8);
    const qkv = `${BLOCK}.transformer_blocks.0.attn1.qkv`;
    expect(integers.find(({ name, op }) => name === qkv && !op.includes("norm"))!.op).toBe("linear");
    for (const half of ["0.proj", "2"])
      expect(integers.find(({ name }) => name === `${BLOCK}.transformer_blocks.0.ff.net.${half}`)!.op).toBe("linear");
    expect(opOf("mid_block.attentions.0.transformer_blocks.0.attn1.qkv")).toBe("linear_q8_codes");
    const isSpatial = (name: string) => name.includes(".transformer_blocks.") && name.includes("attn1");
    for (const [given, op, least] of [
      [rows, "attention_f8_codes", LEAST_ATTENTION_TOKENS_IN_CODES],
      [integers, "attention_q8", LEAST_ATTENTION_TOKENS],
    ] as const) {
      const spatial = given.filter(({ name }) => isSpatial(name));
      const tokensOf = (of: string) => spatial.filter((row) => row.op === of).map(({ inputs }) => inputs[1]!.dims[2]!);
      expect(tokensOf(op).length).toBeGreaterThan(0);
      expect(Math.min(...tokensOf(op))).toBeGreaterThanOrEqual(least);
      expect(tokensOf("attention").filter((tokens) => tokens >= least)).toEqual([]);
    }
    const onCpu = await rowsOf("fp8", large);
    expect(onCpu.some(({ op }) => op !== "attention" && op.startsWith("attention"))).toBe(false);
    expect(onCpu.find(({ name, op }) => name === qkv && !op.includes("norm"))!.op).toBe("linear");
  });

  it("are attention on Hopper alone", () => {
    const known = [
      { name: "NVIDIA H200", computeCapability: "9.0" },
      { name: "NVIDIA GeForce RTX 4090", computeCapability: "8.9" },
    ];
    const planFor = (name: string) => planOf("int8", { kind: "cuda", name } as Device, known).plan;
    expect(planFor("NVIDIA H200")).toEqual(PRECISION_PLANS.int8);
    expect(planFor("NVIDIA GeForce RTX 4090")).toEqual({ ...PRECISION_PLANS.int8, attention: "full" });
    expect(planOf("fp8", cpu).plan).toEqual({ ...PRECISION_PLANS.fp8, attention: "full" });
  });

  it("leave everything else as it is, and read no weight in 16 bits that is there in 8", async () => {
    const [full, eight] = [await rowsOf("full"), await rowsOf("int8")];
    const isOfLayer = (name: string) => eight.some((row) => isLayer(row) && row.name === name);
    const others = (rows: typeof full) =>
      rows
        .filter(({ op, name }) => op !== "quantize" && !isOfLayer(name))
        .map(({ op, name }) => `${op.replace("_q8", "")} ${name}`);
    expect(others(eight).sort()).toEqual(others(full).sort());
    const large = (row: (typeof full)[number]) =>
      row.inputs.some((t) => t?.storage.kind === "weights" && t.dtype === "f16" && t.dims.length > 1);
    expect(eight.filter((row) => isOfLayer(row.name) && large(row))).toEqual([]);
  });

  it("have codes of their inputs behind the row that makes these", async () => {
    const rows = await rowsOf("int8");
    const at = rows.findIndex(({ name }) => name === LAYERS[0]);
    expect(rows[at - 1]!.op).toBe("layer_norm_q8");
    const gated = rows.findIndex(({ name }) => name === `${BLOCK}.transformer_blocks.0.ff.net.2`);
    expect(rows.slice(gated - 2, gated).map(({ op }) => op)).toEqual(["linear_q8", "quantize"]);
  });

  it("pass codes on where a scale is known: from a table, or of floats by the weights", async () => {
    const of = async (precision: EightBitPrecision, change: Partial<EightBitModel> = {}) => {
      const eightBits = (await opened(precision))!;
      Object.assign(eightBits.model, change);
      const { build } = denoiseStage(modelsWithLayers(makeModels(components), eightBits), SHAPE);
      const rows = layoutGraph(build).graph.rows;
      return (name: string, before: number) => {
        const at = rows.findIndex((row) => row.name === name && isLayer(row));
        return rows.slice(at - before, at + 1).map(({ op }) => op);
      };
    };
    const [, , narrow, , , conv] = LAYERS as [string, string, string, string, string, string];
    const passed = [
      ["layer_norm_q8", "linear_q8_codes", "linear_q8"],
      ["group_norm_q8", "conv_q8"],
    ];
    const floats = await of("fp8");
    expect([floats(narrow, 2), floats(conv, 1)]).toEqual(passed);
    const passes = await of("fp8", { codesFrom: "passes" });
    expect([passes(narrow, 2), passes(conv, 2)]).toEqual([
      ["linear_q8", "quantize", "linear_q8"],
      ["group_norm", "quantize", "conv_q8"],
    ]);
    const scales = new Map([narrow, conv].map((name) => [name, { i8: { largest: 4, error: 0 } }]));
    const integers = await of("int8", { scales, usesStaticScales: true });
    expect([integers(narrow, 2), integers(conv, 1)]).toEqual(passed);
    const others = await of("int8");
    expect([others(narrow, 1), others(conv, 1)]).toEqual([
      ["quantize", "linear_q8"],
      ["quantize", "conv_q8"],
    ]);
    // Smoothing changes the weights that the scale of floats would follow from.
    const exponents = new Int8Array(feedForwardWidth(narrow)).fill(1);
    const table = new Map([[narrow, { f8e4m3: { largest: 4, error: 0, exponents } }]]);
    const smoothed = await of("fp8", { smoothing: new Smoothing(table) });
    expect(smoothed(narrow, 1)).toEqual(["quantize", "linear_q8"]);
    const known = await of("fp8", { smoothing: new Smoothing(table), scales: table, usesStaticScales: true });
    expect(known(narrow, 2)).toEqual(passed[0]);
  });

  it("of the decoder are in 8 bits with fp8 alone", async () => {
    const opsOf = (decoder: "fp8" | undefined) =>
      new Set(
        layoutGraph(decodeStage(makeModels(components), { ...SHAPE, decoder }).build).graph.rows.map(({ op }) => op),
      );
    const decoders = await Promise.all(
      (["fp8", "int8", "mixed8"] as const).map(async (name) => (await opened(name))!.decoder),
    );
    expect(decoders).toEqual(["fp8", undefined, undefined]);
    expect(opsOf("fp8")).toContain("conv_q8");
    expect(opsOf(undefined)).not.toContain("conv_q8");
  });
});

describe("a device without 8-bit floats", () => {
  // Devices of such kinds are not at hand: the CPU stands in for a GPU.
  const old = Object.assign(Object.create(cpu), { kind: "cuda", name: "old" }) as typeof cpu;
  const on = (precision: EightBitPrecision) =>
    openEightBits({ components, layers: { precision, calibration: "none" }, device: old, denoiser: undefined });

  it("computes mixed8 in integers and says so, and refuses fp8", async () => {
    const mixed = await on("mixed8");
    expect(new Set(Object.values(mixed!.model.plan))).toEqual(new Set(["full", "i8"]));
    expect(mixed!.warnings[0]).toMatch(
      /8-bit floats need 8\.9 or more\. All layers in 8 bits are computed in integers\./,
    );
    expect((await on("int8"))!.warnings.join()).not.toContain("floats");
    const { code, where, hint } = await failureOf(on("fp8"));
    expect([code, where, hint]).toEqual(["unsupported", "precision", "Use int8."]);
    expect(vae.isFp8Available(old).available).toBe(false);
  });
});

describe("what does not go together", () => {
  it("is refused in a sentence", async () => {
    const denoiser = {
      name: "other",
      prepare: async () => undefined,
      open: async () => Promise.reject(new Error("no")),
    };
    const { code, message } = await failureOf(openTiny({ precision: "int8", denoiser }));
    expect(code).toBe("unsupported");
    expect(message).toContain("int8 beside other");
    const eight = await openTiny({ precision: "int8", calibration: "none" });
    const refused = await failureOf(eight.calibrate({ ...QUICK, images: [QUICK.image] }));
    expect(refused).toBeInstanceOf(VdError);
    expect(refused.message).toContain("Leave precision out");
    const plain = await openTiny();
    expect((await failureOf(plain.calibrate({ images: [] }))).message).toContain("Give at least one");
  });
});
