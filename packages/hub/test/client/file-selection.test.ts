import { describe, expect, it } from "vitest";
import { svdFiles } from "../../../../tooling/testing/fake-hub";
import { selectModelFiles, selectWeightFiles } from "../../src/index";

const stem = "unet/diffusion_pytorch_model";
const weights = (names: string[], dtype: "fp32" | "fp16" | "bf16") => selectWeightFiles(new Set(names), "unet", dtype);
const shard = (i: number, count: number) => `-0000${i}-of-0000${count}`;

describe("selectModelFiles", () => {
  it("takes one set of weights per network and all configurations", () => {
    const { files, missing, exact } = selectModelFiles(Object.keys(svdFiles()), "fp16");
    expect(files).toEqual([
      "feature_extractor/preprocessor_config.json",
      "image_encoder/config.json",
      "image_encoder/model.fp16.safetensors",
      "model_index.json",
      "scheduler/scheduler_config.json",
      "unet/config.json",
      `${stem}.fp16.safetensors`,
      "vae/config.json",
      "vae/diffusion_pytorch_model.fp16.safetensors",
    ]);
    expect([missing, exact]).toEqual([[], true]);
  });

  it("names all that is missing", () => {
    const { missing } = selectModelFiles(["unet/config.json", `${stem}.bin`, "vae/model.safetensors"], "fp32");
    expect(missing).toEqual([
      "model_index.json",
      "scheduler/scheduler_config.json",
      "vae/config.json",
      "image_encoder/config.json",
      `${stem}.safetensors`,
      "vae/diffusion_pytorch_model.safetensors",
      "image_encoder/model.safetensors",
    ]);
  });

  it("is not exact if one network has the other format only", () => {
    const names = Object.keys(svdFiles()).filter((name) => name !== "vae/diffusion_pytorch_model.fp16.safetensors");
    const { files, exact } = selectModelFiles(names, "fp16");
    expect(files).toContain("vae/diffusion_pytorch_model.safetensors");
    expect(exact).toBe(false);
    expect(selectModelFiles(names, "bf16").exact).toBe(false);
  });
});

describe("selectWeightFiles", () => {
  it("prefers the asked variant, then the plain file, then another variant; never an unknown one", () => {
    const all = [`${stem}.safetensors`, `${stem}.fp16.safetensors`, `${stem}.bf16.safetensors`];
    expect(weights(all, "fp32")).toEqual({ files: [all[0]], variant: "" });
    expect(weights(all, "fp16")).toEqual({ files: [all[1]], variant: "fp16" });
    expect(weights(all, "bf16")).toEqual({ files: [all[2]], variant: "bf16" });
    expect(weights(all.slice(0, 1), "fp16")).toEqual({ files: [all[0]], variant: "" });
    expect(weights(all.slice(1, 2), "fp32")).toEqual({ files: [all[1]], variant: "fp16" });
    expect(weights([`${stem}.non_ema.safetensors`], "fp32")).toBeUndefined();
  });

  it.each([
    ["", `${stem}.safetensors.index.json`, (i: number) => `${stem}${shard(i, 2)}.safetensors`],
    ["fp16", `${stem}.safetensors.index.fp16.json`, (i: number) => `${stem}.fp16${shard(i, 2)}.safetensors`],
    ["fp16", `${stem}.safetensors.fp16.index.json`, (i: number) => `${stem}${shard(i, 2)}.fp16.safetensors`],
  ])("reads shards (variant %j, index %s)", (variant, index, name) => {
    const names = [name(2), index, name(1)];
    expect(weights(names, "fp16")).toEqual({ files: [index, name(1), name(2)], variant });
    expect(weights(names.slice(1), "fp16")).toBeUndefined();
    expect(weights([name(1), name(2)], "fp16")).toBeUndefined();
  });

  it("does not mix the shards of two cuts", () => {
    const index = `${stem}.safetensors.index.json`;
    const whole = [1, 2, 3].map((i) => `${stem}${shard(i, 3)}.safetensors`);
    expect(weights([index, `${stem}${shard(1, 2)}.safetensors`, ...whole], "fp32")?.files).toEqual([index, ...whole]);
  });
});
