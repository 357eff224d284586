import { join } from "node:path";
import {
  decodeStored,
  roundToFloat16,
  SafetensorsFile,
  toFloat16Array,
  type WeightEntry,
  writeSafetensors,
} from "@vd/tensor";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { type ModelComponents, openModelFolder, type StableVideoDiffusionPipeline } from "../../src/index";
import { mergeLoras, readLoras } from "../../src/lora/merge-loras";
import { sameBytes } from "../support/measures";
import { addWeights } from "../support/rewrite-weights";
import { copyOfTiny, openTiny, QUICK, TINY_SVD, temporaryFolder, WEIGHT_FILES } from "../support/tiny-model";
import { kohyaName, type MadeUpLora, peftName, reference, tensorsOf } from "./made-up-lora";

const BLOCK = "down_blocks.0.attentions.0.transformer_blocks.0";
/** One of each kind of layer, each of another rank. */
const LAYERS: readonly MadeUpLora[] = [
  { module: `${BLOCK}.attn1.to_q`, shape: [64, 64], rank: 4, alpha: 4 },
  { module: `${BLOCK}.attn1.to_out.0`, shape: [64, 64], rank: 1, alpha: 8 },
  { module: `${BLOCK}.attn2.to_v`, shape: [64, 128], rank: 3, alpha: 1 },
  { module: `${BLOCK}.ff.net.0.proj`, shape: [512, 64], rank: 16, alpha: 2 },
  { module: "conv_in", shape: [64, 8, 3, 3], rank: 5, alpha: 5 },
  { module: "down_blocks.0.resnets.0.temporal_res_block.conv1", shape: [64, 64, 3, 1, 1], rank: 2, alpha: 1 },
  { module: "down_blocks.2.resnets.0.spatial_res_block.conv_shortcut", shape: [128, 64, 1, 1], rank: 2, alpha: 3 },
];

/** Writes a LoRA of some layers; names: how keys are spelled. */
function writeLora(layers = LAYERS, name = peftName, dtype: "F32" | "F16" | "BF16" = "F32"): string {
  const path = join(temporaryFolder(), "lora.safetensors");
  writeSafetensors(
    path,
    layers.flatMap((layer) => tensorsOf(layer, name, dtype)),
  );
  return path;
}

async function numbersOf({ storage, byteOffset, dtype, shape }: WeightEntry): Promise<Float32Array> {
  await storage.fill?.();
  const { buffer, byteOffset: base } = storage.place!;
  const count = shape.reduce((product, size) => product * size, 1);
  return decodeStored(await buffer.readBytes(base + byteOffset, count * (dtype === "f32" ? 4 : 2)), dtype);
}

let tiny: ModelComponents;
let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  tiny = await openModelFolder(TINY_SVD);
  pipeline = await openTiny();
});

/** The weights that a LoRA of all layers changes. */
async function merged(path: string, weight: number) {
  const { unet } = mergeLoras(tiny, await readLoras([{ path, weight }]));
  return (module: string) => numbersOf(unet.weights.entries.get(`${module}.weight`)!);
}
const plain = (module: string) => numbersOf(tiny.unet.weights.entries.get(`${module}.weight`)!);

describe("mergeLoras", () => {
  it.each([
    ["PEFT's", peftName, "F32"],
    ["kohya's", kohyaName, "F16"],
    ["PEFT's", peftName, "BF16"],
  ] as const)("adds weight · alpha / rank · up · down under %s names (%s)", async (_, name, dtype) => {
    const after = await merged(writeLora(LAYERS, name, dtype), -0.75);
    for (const layer of LAYERS) {
      const wanted = reference(await plain(layer.module), layer, -0.75);
      expect(await after(layer.module)).toEqual(
        Float32Array.from(wanted, (value) => roundToFloat16(Math.fround(value))),
      );
    }
    expect(await after("conv_out")).toEqual(await plain("conv_out"));
  });

  it("knows the original names, as kohya and ComfyUI write them", async () => {
    const [layer] = LAYERS as [MadeUpLora];
    for (const stem of [
      "lora_unet_input_blocks_1_1_transformer_blocks_0_attn1_to_q",
      "diffusion_model.input_blocks.1.1.transformer_blocks.0.attn1.to_q",
    ]) {
      const name = (_: string, part: "down" | "up" | "alpha") =>
        `${stem}.${part === "alpha" ? part : `lora_${part}.weight`}`;
      const after = await merged(writeLora([layer], name), 1);
      const wanted = reference(await plain(layer.module), layer, 1);
      expect(await after(layer.module)).toEqual(
        Float32Array.from(wanted, (value) => roundToFloat16(Math.fround(value))),
      );
    }
  });

  it("takes a convolution's LoRA in three parts, and a change of the bias", async () => {
    // up [64,2], mid [2,2,3,3], down [2,8], bias [64].
    const [up, mid, down] = [
      Float32Array.from({ length: 128 }, (_, i) => (i % 5) / 64),
      Float32Array.from({ length: 36 }, (_, i) => (i % 7) / 8),
      Float32Array.from({ length: 16 }, (_, i) => (i % 3) / 4),
    ];
    const path = join(temporaryFolder(), "lora.safetensors");
    const key = "lora_unet_conv_in";
    writeSafetensors(path, [
      { name: `${key}.lora_up.weight`, dtype: "F32", shape: [64, 2, 1, 1], data: up },
      { name: `${key}.lora_mid.weight`, dtype: "F32", shape: [2, 2, 3, 3], data: mid },
      { name: `${key}.lora_down.weight`, dtype: "F32", shape: [2, 8, 1, 1], data: down },
      { name: `${key}.lora_B.bias`, dtype: "F32", shape: [64], data: new Float32Array(64).fill(0.5) },
    ]);
    const { unet } = mergeLoras(tiny, await readLoras([{ path, weight: 2 }]));
    const base = await plain("conv_in");
    const wanted = Float32Array.from(base, (value, at) => {
      const [k, c, i] = [Math.floor(at / 72), Math.floor(at / 9) % 8, at % 9];
      let sum = 0;
      for (let p = 0; p < 2; p++)
        for (let q = 0; q < 2; q++) sum += up[k * 2 + p]! * mid[(p * 2 + q) * 9 + i]! * down[q * 8 + c]!;
      return roundToFloat16(Math.fround(value + 2 * sum));
    });
    expect(await numbersOf(unet.weights.entries.get("conv_in.weight")!)).toEqual(wanted);
    const bias = await numbersOf(tiny.unet.weights.entries.get("conv_in.bias")!);
    const moved = bias.map((value) => roundToFloat16(Math.fround(value + 1)));
    expect(await numbersOf(unet.weights.entries.get("conv_in.bias")!)).toEqual(moved);
  });

  it.each(["F32", "BF16"] as const)("keeps weights stored as %s in their type", async (dtype) => {
    const model = copyOfTiny();
    addWeights(model, "unet", { dtype });
    const stored = await openModelFolder(model);
    const { unet } = mergeLoras(stored, await readLoras([{ path: writeLora() }]));
    for (const layer of LAYERS) {
      const name = `${layer.module}.weight`;
      const [before, after] = [stored.unet.weights.entries.get(name)!, unet.weights.entries.get(name)!];
      expect(after.dtype).toBe(before.dtype);
      const wanted = reference(await numbersOf(before), layer, 1);
      const within = dtype === "F32" ? 2 ** -24 : 2 ** -8;
      (await numbersOf(after)).forEach((value, i) => {
        expect(Math.abs(value - wanted[i]!)).toBeLessThanOrEqual(within * Math.abs(wanted[i]!) + 1e-12);
      });
    }
  });

  it("names modules and shapes that the model does not have", async () => {
    const strange = { module: "down_blocks.7.attentions.0.proj_in", shape: [64, 64], rank: 2, alpha: 2 };
    const unknown = await failureOf(
      readLoras([{ path: writeLora([...LAYERS, strange]) }]).then((read) => mergeLoras(tiny, read)),
    );
    expect([unknown.code, unknown.got]).toEqual([
      ...["weights", "1 of 8 modules that it does not have: unet.down_blocks.7.attentions.0.proj_in.lora_A.weight"],
    ]);
    for (const shape of [
      [64, 32],
      [32, 64],
      [64, 64, 3, 3],
    ]) {
      const misfit = { ...LAYERS[0]!, shape };
      const error = await failureOf(readLoras([{ path: writeLora([misfit]) }]).then((read) => mergeLoras(tiny, read)));
      expect([error.code, error.expected]).toEqual(["weights", "a LoRA for a weight of [64,64]"]);
      expect(error.where).toContain("attn1.to_q.lora_A.weight");
    }
  });
});

describe("a pipeline with LoRAs", () => {
  /** The tiny model's folder with weights that are merged in its file. */
  async function modelWith(loras: readonly (readonly [MadeUpLora, number])[]): Promise<string> {
    const model = copyOfTiny();
    const path = join(model, WEIGHT_FILES.unet);
    using file = SafetensorsFile.open(join(TINY_SVD, WEIGHT_FILES.unet));
    const tensors = [...file.entries.values()].map(({ name, dtype, shape }) => {
      // Every LoRA's sum is in float32 before it is rounded once, as it is where they are merged.
      const merged = loras
        .filter(([{ module }]) => name === `${module}.weight`)
        .reduce((values, [lora, weight]) => Float32Array.from(reference(values, lora, weight)), file.readFloat32(name));
      return dtype === "F16"
        ? { name, shape, dtype, data: toFloat16Array(merged) }
        : { name, shape, dtype, data: file.readBytes(name) };
    });
    writeSafetensors(path, tensors);
    return model;
  }

  it("generates what the same model with merged weights in its file does, and its own bits after unloadLoras", async () => {
    const plainVideo = await pipeline.generate(QUICK);
    const other = { ...LAYERS[4]!, rank: 2, alpha: 4 };
    const [first, second] = [writeLora(), writeLora([other], kohyaName)];
    await pipeline.loadLoras([{ path: first, weight: 0.8 }]);
    await pipeline.loadLoras([{ path: second }]);
    const changed = await pipeline.generate(QUICK);
    const all = [...LAYERS.map((layer) => [layer, 0.8] as const), [other, 1] as const];
    const reopened = await openTiny({}, await modelWith(all));
    expect(sameBytes(changed.data, plainVideo.data)).toBe(false);
    expect(sameBytes((await reopened.generate(QUICK)).data, changed.data)).toBe(true);
    reopened.dispose();
    await pipeline.unloadLoras();
    const again = await pipeline.generate(QUICK);
    expect(again.floats()).toEqual(plainVideo.floats());
  });

  it("loads them when it is opened, and refuses wrong ones with the model left as it was", async () => {
    const opened = await openTiny({ loras: [{ path: writeLora(), weight: 0 }] });
    const plainVideo = await pipeline.generate(QUICK);
    expect(sameBytes((await opened.generate(QUICK)).data, plainVideo.data)).toBe(true);
    opened.dispose();
    expect((await failureOf(openTiny({ loras: [{ path: "" }] }))).code).toBe("attr");
    expect((await failureOf(pipeline.loadLoras([{ path: "x.safetensors", weight: Number.NaN }]))).where).toBe("loras");
    const misfit = writeLora([{ ...LAYERS[0]!, shape: [32, 32] }]);
    expect((await failureOf(pipeline.loadLoras([{ path: writeLora() }, { path: misfit }]))).code).toBe("weights");
    expect(sameBytes((await pipeline.generate(QUICK)).data, plainVideo.data)).toBe(true);
  });

  it("keeps its state apart from that of other LoRAs", async () => {
    const resume = join(temporaryFolder(), "state");
    await pipeline.generate({ ...QUICK, resume, keepState: true });
    await pipeline.loadLoras([{ path: writeLora(), weight: 0.5 }]);
    const error = await failureOf(pipeline.generate({ ...QUICK, resume }));
    expect(error.got).toMatch(/^another one: LoRAs where there was none$/);
    await pipeline.unloadLoras();
  });
});
