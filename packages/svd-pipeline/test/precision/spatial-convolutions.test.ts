import { openDevice } from "@vd/kernels-native";
import { layoutGraph, type Row } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { makeModels } from "../../src/opening/models";
import { openEightBits } from "../../src/precision/eight-bits";
import { type EightBitPrecision, LEAST_SPATIAL_CHANNELS } from "../../src/precision/layer-kinds";
import { modelsWithLayers } from "../../src/precision/models-with-layers";
import { denoiseStage, type StageShape } from "../../src/stages/definitions";
import { svdXt } from "../support/svd-xt";

const components = svdXt();
const SHAPE: StageShape = { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, decodeChunk: undefined };

/** The rows of a call of the denoiser of full size. */
async function rowsOf(precision: EightBitPrecision, more: Partial<StageShape> = {}): Promise<Row[]> {
  const layers = { precision, calibration: "none" } as const;
  const device = openDevice("cpu", { threads: 1 });
  const eightBits = await openEightBits({ components, layers, device, denoiser: undefined });
  const models = modelsWithLayers(makeModels(components), eightBits);
  const { dtype = "f16" } = more;
  return layoutGraph(denoiseStage(models, { ...SHAPE, dtype, ...more }).build, { dtype }).graph.rows;
}

/** Rows that convolve over pixels, with the channels of results and of sources. */
function spatial(rows: readonly Row[]) {
  return rows.flatMap(({ op, name, inputs }) => {
    const filter = inputs.find((each) => each?.storage.kind === "weights" && each.dims.length === 5);
    const isOverPixels = op.startsWith("conv") && filter && filter.dims[3]! > 1;
    return isOverPixels ? [{ op, name, channels: Math.min(filter.dims[0]!, filter.dims[1]!) }] : [];
  });
}

describe("convolutions over pixels", () => {
  it("are in float8 where a norm gives them codes, channels are many and Winograd's transforms are not for them", async () => {
    const convolutions = spatial(await rowsOf("fp8", { convolutions: "unet" }));
    const inFloat8 = convolutions.filter(({ op }) => op === "conv_q8");
    expect(Math.min(...inFloat8.map(({ channels }) => channels))).toBe(LEAST_SPATIAL_CHANNELS);
    // Two of each of 22 residual blocks, less those of many pixels and more than 320 channels.
    expect(inFloat8).toHaveLength(21);
    expect(inFloat8.every(({ name }) => /resnets\.\d+\.spatial_res_block\.conv[12]$/.test(name))).toBe(true);
    expect(convolutions.filter(({ op }) => op === "conv_winograd")).toHaveLength(23);
    const others = convolutions.filter(({ op }) => op === "conv").map(({ name }) => name.replace(/\d/, "N"));
    const sized = ["down_blocks.N.downsamplers.0.conv", "up_blocks.N.upsamplers.0.conv"];
    expect(new Set(others)).toEqual(new Set(["conv_in", "conv_out", ...sized]));
    expect(others).toHaveLength(8);
  });

  it("are the same ones whatever is computed in, with transforms or without, and with rows of guidance apart", async () => {
    const namesOf = async (more: Partial<StageShape>) =>
      spatial(await rowsOf("fp8", more)).flatMap(({ op, name }) => (op === "conv_q8" ? [name] : []));
    const names = await namesOf({ convolutions: "unet" });
    expect(await namesOf({})).toEqual(names);
    expect(await namesOf({ dtype: "f32" })).toEqual(names);
    expect(new Set(await namesOf({ rowsApart: true }))).toEqual(new Set(names));
  });

  it("have codes from the norm right in front of them, which nobody writes twice", async () => {
    const rows = await rowsOf("fp8", { convolutions: "unet" });
    const norms = rows.filter(({ op }) => op === "group_norm" || op === "group_norm_q8");
    expect(new Set(norms.map(({ name }) => name)).size).toBe(norms.length);
    for (const { name } of spatial(rows).filter(({ op }) => op === "conv_q8")) {
      const at = rows.findIndex((row) => row.name === name);
      expect([rows[at - 1]!.op, name]).toEqual(["group_norm_q8", name]);
    }
    expect(rows.some(({ op }) => op === "quantize")).toBe(false);
  });

  it("stay in the type of the activations with integers, and with both", async () => {
    for (const precision of ["int8", "mixed8"] as const)
      expect(spatial(await rowsOf(precision)).filter(({ op }) => op === "conv_q8")).toEqual([]);
  });
});
