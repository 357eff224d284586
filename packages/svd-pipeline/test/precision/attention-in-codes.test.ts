import { openDevice } from "@vd/kernels-native";
import { layoutGraph, type Row, type Tensor } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { makeModels } from "../../src/opening/models";
import type { EightBitModel } from "../../src/precision/eight-bit-recorder";
import { openEightBits } from "../../src/precision/eight-bits";
import { type EightBitPrecision, PRECISION_PLANS } from "../../src/precision/layer-kinds";
import { Smoothing } from "../../src/precision/layer-scales";
import { modelsWithLayers } from "../../src/precision/models-with-layers";
import { denoiseStage, type StageShape } from "../../src/stages/definitions";
import { svdXt } from "../support/svd-xt";

const components = svdXt();
const SHAPE: StageShape = { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, decodeChunk: undefined };
const QKV = "down_blocks.0.attentions.0.transformer_blocks.0.attn1.qkv";

/** The rows of a call of the denoiser of full size, as a Hopper GPU has them. */
async function rowsOf(
  precision: EightBitPrecision,
  { more = {}, change = () => {} }: { more?: Partial<StageShape>; change?(model: EightBitModel): void } = {},
): Promise<readonly Row[]> {
  const layers = { precision, calibration: "none" } as const;
  const device = openDevice("cpu", { threads: 1 });
  const eightBits = (await openEightBits({ components, layers, device, denoiser: undefined }))!;
  eightBits.model.plan = PRECISION_PLANS[precision];
  change(eightBits.model);
  const models = modelsWithLayers(makeModels(components), eightBits);
  const shape = { ...SHAPE, dtype: "f16", fusedLayerNorm: true, ...more } as const;
  return layoutGraph(denoiseStage(models, shape).build, { dtype: "f16" }).graph.rows;
}

const selfAttention = (rows: readonly Row[]) =>
  rows.filter(({ name, op }) => op.startsWith("attention") && name.includes("attn1"));
const tokensOf = ({ inputs }: Row) => inputs[0]!.dims[2]!;
const isOverFrames = ({ name }: Row) => name.includes("temporal");
/** The row that made the codes a row reads. */
const makerOf = (rows: readonly Row[], { inputs }: Row) =>
  rows.find(({ outputs }) => outputs[0]!.storage === inputs[0]!.storage)!;

describe("queries, keys and values in float8", () => {
  it("come as codes from the layer in front, over frames and over many tokens", async () => {
    const rows = await rowsOf("fp8");
    const attention = selfAttention(rows);
    expect(attention).toHaveLength(2 * 16);
    const inCodes = attention.filter(({ op }) => op === "attention_f8_codes");
    // Those that stay are over the 144 tokens of the middle.
    expect(attention.filter((row) => !inCodes.includes(row)).map((row) => [isOverFrames(row), tokensOf(row)])).toEqual([
      [false, 144],
    ]);
    const makers = inCodes.map((row) => makerOf(rows, row));
    expect(makers.map(({ op }) => op)).toEqual(
      inCodes.map((row) => (tokensOf(row) === 9216 ? "layer_norm_linear_q8_codes" : "linear_q8_codes")),
    );
    expect(makers.every(({ name, outputs }) => name.endsWith("attn1.qkv") && outputs[0]!.dtype === "f8e4m3")).toBe(
      true,
    );
    // Nothing else reads them, and each is made once.
    expect(new Set(makers).size).toBe(inCodes.length);
    expect(rows.filter(({ name, op }) => name.endsWith("attn1.qkv") && !op.includes("norm_q8"))).toHaveLength(2 * 16);
  });

  it("are three ranges of one tensor, with one scale", async () => {
    const [row] = selfAttention(await rowsOf("fp8"));
    const [q, k, v, ...scales] = row!.inputs as [Tensor, Tensor, Tensor, ...Tensor[]];
    expect([q, k, v].map(({ byteOffset }) => byteOffset - q.byteOffset)).toEqual([0, 320, 640]);
    expect(new Set([q, k, v].map(({ storage }) => storage)).size).toBe(1);
    expect(new Set(scales.slice(0, 3).map(({ storage }) => storage)).size).toBe(1);
  });

  it("are numbers where the layer is in integers, or attention stays", async () => {
    const ops = (rows: readonly Row[]) => new Set(selfAttention(rows).map(({ op }) => op));
    expect(ops(await rowsOf("int8"))).toEqual(new Set(["attention_q8", "attention"]));
    expect(ops(await rowsOf("mixed8"))).toEqual(new Set(["attention_q8", "attention"]));
    const stays = (model: EightBitModel) => {
      model.plan = { ...PRECISION_PLANS.fp8, attention: "full" };
    };
    const rows = await rowsOf("fp8", { change: stays });
    expect(ops(rows)).toEqual(new Set(["attention"]));
    expect(rows.find(({ name }) => name === QKV)!.op).toBe("layer_norm_linear_q8");
  });

  it("come from a norm of its own where smoothing divides its channels", async () => {
    const smoothed = (model: EightBitModel) => {
      const table = new Map([[QKV, { f8e4m3: { largest: 4, error: 0, exponents: new Int8Array(320).fill(1) } }]]);
      model.smoothing = new Smoothing(table);
    };
    const rows = await rowsOf("fp8", { change: smoothed });
    const own = rows.filter(({ name }) => name.startsWith(QKV));
    expect(own.map(({ op }) => op)).toEqual(["linear_q8_codes"]);
    expect(selfAttention(rows)[0]!.op).toBe("attention_f8_codes");
  });

  it("are the same with rows of guidance one after the other", async () => {
    const [together, apart] = [await rowsOf("fp8"), await rowsOf("fp8", { more: { rowsApart: true } })];
    const kinds = (rows: readonly Row[]) => selfAttention(rows).map(({ name, op }) => `${op} ${name}`);
    expect(new Set(kinds(apart))).toEqual(new Set(kinds(together)));
    expect(kinds(apart)).toHaveLength(2 * kinds(together).length);
  });
});

describe("the results of attention over codes", () => {
  const outputOf = (rows: readonly Row[], { name }: Row) =>
    rows.find((row) => row.name === name.replace(/attention$/, "to_out.0"))!;

  it("are codes for the layer behind it, which is in float8", async () => {
    const rows = await rowsOf("fp8");
    const inCodes = selfAttention(rows).filter(({ op }) => op === "attention_f8_codes");
    expect(inCodes.length).toBeGreaterThan(20);
    for (const attention of inCodes) {
      const layer = outputOf(rows, attention);
      expect([layer.op, layer.outputs[0]!.dtype]).toEqual(["linear_q8", "f16"]);
      expect(layer.inputs[0]!.storage).toBe(attention.outputs[0]!.storage);
      expect(layer.inputs).toContain(attention.inputs[6]); // its scale is that of what it reads
    }
    const [stays] = selfAttention(rows).filter(({ op }) => op === "attention");
    expect(outputOf(rows, stays!).op).toBe("linear");
  });

  it("have the scale of the table where there is one", async () => {
    const scaleOf = async (rows: readonly Row[], name: string, operand: number) => {
      const { storage } = rows.find((row) => row.name === name)!.inputs[operand]!;
      await storage.fill?.();
      const bytes = storage.place!.buffer.readSync(new Uint8Array(4), storage.place!.byteOffset);
      return new Float32Array(bytes.buffer)[0]!;
    };
    const block = QKV.replace(".qkv", "");
    const known = (model: EightBitModel) => {
      model.scales = new Map([[`${block}.to_out.0`, { f8e4m3: { largest: 112, error: 0 } }]]);
      model.usesStaticScales = true;
    };
    expect(await scaleOf(await rowsOf("fp8", { change: known }), `${block}.attention`, 6)).toBe(0.25);
  });

  it("are numbers where the layer behind it stays", async () => {
    const stays = (model: EightBitModel) => {
      model.plan = { ...PRECISION_PLANS.fp8, attentionOutput: "full" };
    };
    const rows = await rowsOf("fp8", { change: stays });
    const attention = selfAttention(rows).filter(({ op }) => op !== "attention");
    expect(new Set(attention.map(({ op }) => op))).toEqual(new Set(["attention_f8"]));
    expect(attention.every((row) => row.outputs[0]!.dtype === "f16" && outputOf(rows, row).op === "linear")).toBe(true);
  });
});
