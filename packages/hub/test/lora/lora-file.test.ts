import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TensorToWrite, toBfloat16Array, toFloat16Array, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { readLoraFile } from "../../src/lora/lora-file";

const tensor = (name: string, shape: readonly number[], values?: readonly number[]): TensorToWrite => {
  const count = shape.reduce((product, size) => product * size, 1);
  return { name, shape, dtype: "F32", data: Float32Array.from(values ?? new Array(count).fill(1)) };
};

function written(tensors: readonly TensorToWrite[], metadata?: Record<string, string>, name = "x.safetensors"): string {
  const path = join(temporaryFolder(), name);
  writeSafetensors(path, tensors, metadata);
  return path;
}

const halves = (stem: string, [down, up]: readonly [string, string]) => [
  tensor(`${stem}${down}`, [2, 3]),
  tensor(`${stem}${up}`, [4, 2]),
];
const PEFT = [".lora_A.weight", ".lora_B.weight"] as const;
const KOHYA = [".lora_down.weight", ".lora_up.weight"] as const;

describe("readLoraFile", () => {
  it.each([
    ["unet.mid.attn1.to_q", PEFT, "mid.attn1.to_q"],
    ["base_model.model.mid.attn1.to_q", PEFT, "mid.attn1.to_q"],
    ["base_model.model.unet.mid.attn1.to_q", [".lora_A.default.weight", ".lora_B.default.weight"], "mid.attn1.to_q"],
    ["unet.mid.attn1.to_q", [".lora.down.weight", ".lora.up.weight"], "mid.attn1.to_q"],
    ["mid.attn1.processor.to_q", ["_lora.down.weight", "_lora.up.weight"], "mid.attn1.to_q"],
    ["mid.attn1.processor.to_out", ["_lora.down.weight", "_lora.up.weight"], "mid.attn1.to_out.0"],
    ["diffusion_model.middle_block.1.proj_in", KOHYA, "middle_block.1.proj_in"],
    ["lora_unet_mid_attn1_to_q", KOHYA, "mid_attn1_to_q"],
  ] as const)("knows the module of %s%s", async (stem, parts, name) => {
    const { modules } = await readLoraFile(written(halves(stem, parts)));
    expect(modules.map((module) => [module.name, module.rank, module.scale])).toEqual([[name, 2, 1]]);
  });

  it("scales by alpha / rank: of the module, of the metadata, of a configuration beside it", async () => {
    const own = await readLoraFile(written([...halves("lora_unet_a", KOHYA), tensor("lora_unet_a.alpha", [], [3])]));
    expect(own.modules[0]!.scale).toBe(1.5);
    const settings = { "unet.lora_alpha": 8, "unet.alpha_pattern": { "x.b": 1 }, "unet.r": 2 };
    const metadata = { lora_adapter_metadata: JSON.stringify(settings) };
    const parts = [...halves("unet.x.a", PEFT), ...halves("unet.x.b", PEFT)];
    expect((await readLoraFile(written(parts, metadata))).modules.map(({ scale }) => scale)).toEqual([4, 0.5]);
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    writeSafetensors(join(folder, "adapter_model.safetensors"), halves("base_model.model.a", PEFT));
    writeFileSync(join(folder, "adapter_config.json"), JSON.stringify({ lora_alpha: 8, r: 2, use_rslora: true }));
    expect((await readLoraFile(folder)).modules[0]!.scale).toBeCloseTo(8 / Math.sqrt(2), 12);
  });

  it("reads every type of floats, and tells contents apart by a checksum", async () => {
    const values = Float32Array.of(0.5, -2, 1.25, 3, 0, 1);
    const file = (data: TensorToWrite["data"], dtype: TensorToWrite["dtype"]) =>
      written([{ name: "a.lora_A.weight", dtype, shape: [2, 3], data }, tensor("a.lora_B.weight", [4, 2])]);
    const read = [
      await readLoraFile(file(values, "F32")),
      await readLoraFile(file(toFloat16Array(values), "F16")),
      await readLoraFile(file(toBfloat16Array(values), "BF16")),
      await readLoraFile(file(Float64Array.from(values), "F64")),
    ];
    for (const { modules } of read) expect(modules[0]!.down).toEqual({ shape: [2, 3], values });
    expect(new Set(read.map(({ sha256 }) => sha256)).size).toBe(4);
    expect((await readLoraFile(file(values, "F32"))).sha256).toBe(read[0]!.sha256);
  });

  it.each([
    ["DoRA", [...halves("unet.a", PEFT), tensor("unet.a.lora_magnitude_vector", [4])], "unsupported", "a DoRA"],
    [
      "kohya's DoRA",
      [...halves("lora_unet_a", KOHYA), tensor("lora_unet_a.dora_scale", [4, 1])],
      "unsupported",
      "a DoRA",
    ],
    ["LoHa", [tensor("lora_unet_a.hada_w1_a", [2, 2])], "unsupported", "LoHa or LoKr: lora_unet_a.hada_w1_a"],
    ["LoKr", [tensor("lora_unet_a.lokr_w1", [2, 2])], "unsupported", "LoHa or LoKr: lora_unet_a.lokr_w1"],
    [
      "a checkpoint",
      [tensor("conv_in.weight", [2, 2]), tensor("conv_in.bias", [2])],
      "weights",
      "2 unknown keys: conv_in.weight, conv_in.bias",
    ],
    ["one half", [tensor("a.lora_A.weight", [2, 3])], "weights", "only a.lora_A.weight"],
    [
      "halves of two ranks",
      [tensor("a.lora_A.weight", [2, 3]), tensor("a.lora_B.weight", [4, 3])],
      "weights",
      "[2,3] and [4,3]",
    ],
    [
      "numbers that are not finite",
      [tensor("a.lora_A.weight", [1, 1], [Number.NaN]), tensor("a.lora_B.weight", [1, 1])],
      "weights",
      "others",
    ],
    ["one module twice", [...halves("unet.a", PEFT), ...halves("a", PEFT)], "weights", "one more under another name"],
  ] as const)("refuses %s in a sentence", async (_, tensors, code, got) => {
    const error = await failureOf(readLoraFile(written(tensors)));
    expect([error.code, error.got.startsWith(got) ? got : error.got]).toEqual([code, got]);
  });

  it("refuses DoRA of a configuration, and files that are none", async () => {
    const metadata = { lora_adapter_metadata: JSON.stringify({ "unet.use_dora": true }) };
    expect((await failureOf(readLoraFile(written(halves("unet.a", PEFT), metadata)))).got).toContain("a DoRA");
    const broken = { lora_adapter_metadata: "{" };
    expect((await failureOf(readLoraFile(written(halves("unet.a", PEFT), broken)))).code).toBe("weights");
    expect((await failureOf(readLoraFile("no/such.safetensors"))).code).toBe("io");
    expect((await failureOf(readLoraFile(temporaryFolder()))).code).toBe("io");
    const text = join(temporaryFolder(), "x.safetensors");
    writeFileSync(text, "no tensors");
    expect((await failureOf(readLoraFile(text))).code).toBe("weights");
  });
});
