import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { maxDifference } from "../../../../tooling/testing/pictures";
import { COMPONENT_NAMES, StableVideoDiffusionPipeline } from "../../src/index";
import { openModelFolder } from "../../src/opening/folder";
import { psnr, sameBytes } from "../support/measures";
import { addWeights, removePlain, type Storage } from "../support/rewrite-weights";
import { copyOfTiny, openTiny, QUICK } from "../support/tiny-model";

/** The stored type of a weight of each network: tells which of several files was opened. */
async function typesOf(model: string, format: "fp32" | "fp16" | "bf16"): Promise<string[]> {
  const { unet, vae, imageEncoder } = await openModelFolder(model, format);
  const biases = [
    unet.weights.tensor("conv_in.bias", [64]),
    vae.weights.tensor("encoder.conv_in.bias", [64]),
    imageEncoder.weights.tensor("vision_model.post_layernorm.bias", [128]),
  ];
  return biases.map(({ dtype }) => dtype);
}

/** A copy of the tiny model whose files are these and no others. */
function modelWith(...storages: Storage[]): string {
  const model = copyOfTiny();
  for (const component of COMPONENT_NAMES) {
    for (const storage of storages) if (storage.variant || storage.shards) addWeights(model, component, storage);
    if (storages.every(({ variant, shards }) => variant || shards)) removePlain(model, component);
  }
  return model;
}

async function generate(model: string, dtype?: "float32" | "float16" | "bfloat16"): Promise<Uint8Array> {
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { threads: 2, dtype });
  return (await pipeline.generate(QUICK)).data;
}

const all = (dtype: string) => [dtype, dtype, dtype];

describe("a folder with several precisions", () => {
  it("opens the one that was asked for", async () => {
    const model = copyOfTiny();
    for (const component of COMPONENT_NAMES) {
      addWeights(model, component, { dtype: "F16", variant: "fp16" });
      addWeights(model, component, { dtype: "BF16", variant: "bf16" });
      addWeights(model, component, { dtype: "F32" }); // In place of the plain file.
    }
    expect(await typesOf(model, "fp32")).toEqual(all("f32"));
    expect(await typesOf(model, "fp16")).toEqual(all("f16"));
    expect(await typesOf(model, "bf16")).toEqual(all("bf16"));
  });

  it("opens another one where that is not there", async () => {
    expect(await typesOf(modelWith({ dtype: "BF16", variant: "bf16" }), "fp16")).toEqual(all("bf16"));
    expect(await typesOf(modelWith({ dtype: "F16", variant: "fp16" }), "fp32")).toEqual(all("f16"));
  });

  it("may have another set of files for each network", async () => {
    const model = copyOfTiny();
    addWeights(model, "unet", { dtype: "BF16", variant: "bf16", shards: 2 });
    addWeights(model, "vae", { dtype: "BF16", variant: "bf16" });
    expect(await typesOf(model, "bf16")).toEqual(["bf16", "bf16", "f16"]);
  });
});

describe("the same weights stored in another way", () => {
  it.each<[string, Storage]>([
    ["one file of a variant", { dtype: "F16", variant: "fp16" }],
    ["two shards", { dtype: "F16", shards: 2 }],
    ["three shards of a variant, as it is spelled now", { dtype: "F16", variant: "fp16", shards: 3 }],
    ["shards of a variant, as it was spelled", { dtype: "F16", variant: "fp16", shards: 2, spelling: "variant last" }],
  ])("in %s give the same bytes", async (_, storage) => {
    const wanted = (await (await openTiny()).generate(QUICK)).data;
    const model = modelWith(storage);
    expect(sameBytes(await generate(model), wanted)).toBe(true);
    if (storage.variant) expect(sameBytes(await generate(model, "float16"), wanted)).toBe(true);
  });

  it("as float32 give the same video, and as bfloat16 nearly the same", async () => {
    const wanted = (await (await openTiny()).generate(QUICK)).data;
    const model = modelWith({ dtype: "F32", shards: 2 }, { dtype: "BF16", variant: "bf16" });
    expect(maxDifference(await generate(model), wanted)).toBeLessThanOrEqual(1);
    expect(psnr(await generate(model, "bfloat16"), wanted)).toBeGreaterThan(25);
  });
});

describe("an incomplete set of shards", () => {
  it("is left aside where another set is whole", async () => {
    const model = modelWith({ dtype: "BF16", variant: "bf16", shards: 2 }, { dtype: "F16", variant: "fp16" });
    rmSync(`${model}/vae/diffusion_pytorch_model.bf16-00002-of-00002.safetensors`);
    expect(await typesOf(model, "bf16")).toEqual(["bf16", "f16", "bf16"]);
  });

  it("is an error that names the missing file where there is no other", async () => {
    const model = modelWith({ dtype: "F16", shards: 2 });
    rmSync(`${model}/unet/diffusion_pytorch_model-00002-of-00002.safetensors`);
    const error = await failureOf(openModelFolder(model));
    expect(error.code).toBe("io");
    expect(error.message).toContain("diffusion_pytorch_model-00002-of-00002.safetensors");
    expect(error.message).toContain("no such file");
  });
});
