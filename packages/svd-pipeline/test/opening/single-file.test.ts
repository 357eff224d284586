import { once } from "node:events";
import { cpSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { SafetensorsFile, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { openSingleFile, type SingleFileOptions, StableVideoDiffusionPipeline } from "../../src/index";
import { sameBytes } from "../support/measures";
import { SINGLE_FILE, writeSingleFile } from "../support/single-file";
import { editJson, openTiny, PICTURE, QUICK, TINY_SVD, temporaryFolder, WEIGHT_FILES } from "../support/tiny-model";

/** Without what the folder's sample size decides. */
const OPTIONS = { ...QUICK, maxGuidance: 2 };

const open = (path: string) =>
  StableVideoDiffusionPipeline.fromSingleFile(path, { threads: 2, singleFile: SINGLE_FILE });

describe("a checkpoint in one file", () => {
  it("gives the same bytes as the folder, through both ways of opening it", async () => {
    const path = join(temporaryFolder(), "tiny.safetensors");
    writeSingleFile(path);
    const wanted = (await (await openTiny()).generate(OPTIONS)).data;
    const pipeline = await open(path);
    expect(pipeline.defaults).toMatchObject({ width: 1024, height: 576, numFrames: 14 });
    expect(sameBytes((await pipeline.generate(OPTIONS)).data, wanted)).toBe(true);
    const same = await StableVideoDiffusionPipeline.fromPretrained(path, { singleFile: SINGLE_FILE });
    expect(sameBytes((await same.generate(OPTIONS)).data, wanted)).toBe(true);
    const scaled = await StableVideoDiffusionPipeline.fromPretrained(path);
    expect(sameBytes((await scaled.generate(OPTIONS)).data, wanted)).toBe(false);
  });

  it("may have parts that no pipeline reads", async () => {
    const path = join(temporaryFolder(), "tiny.safetensors");
    writeSingleFile(path);
    const more = join(temporaryFolder(), "more.safetensors");
    using file = SafetensorsFile.open(path);
    const tensors = [...file.entries.values()].map(({ name, dtype, shape }) => ({
      name,
      dtype,
      shape,
      data: () => file.readBytes(name),
    }));
    const unread = { dtype: "F32" as const, shape: [1], data: new Float32Array(1) };
    const names = ["conditioner.embedders.0.open_clip.model.logit_scale", "model_ema.decay"];
    writeSafetensors(more, [...tensors, ...names.map((name) => ({ name, ...unread }))]);
    expect((await open(more)).defaults.steps).toBe(25);
  });
});

describe("what the weights of one file do not tell", () => {
  const tinyFile = (): string => {
    const path = join(temporaryFolder(), "tiny.safetensors");
    writeSingleFile(path);
    return path;
  };
  const openWarned = async (path: string, options: SingleFileOptions = {}) => {
    const warnings: string[] = [];
    const components = await openSingleFile(path, { ...options, onWarning: (message) => warnings.push(message) });
    return { ...components, warnings: warnings.map((text) => text.replace(path, "FILE")) };
  };

  it("is warned of where it is guessed", async () => {
    const { warnings } = await openWarned(tinyFile());
    expect(warnings).toHaveLength(5);
    expect(warnings[0]).toBe(
      'FILE: the activation of image_encoder is not in the weights; "gelu" is a guess. Pass singleFile.clipActivation, or put the model\'s image_encoder/config.json into the folder of the file.',
    );
  });

  it("is warned of through onProgress of the pipeline, and by the process without it", async () => {
    const path = tinyFile();
    const messages: string[] = [];
    const onProgress = ({ message }: { message?: string }) => messages.push(message ?? "");
    await StableVideoDiffusionPipeline.fromSingleFile(path, { onProgress });
    expect(messages.filter((message) => message.includes("is a guess"))).toHaveLength(5);
    const warned = once(process, "warning") as Promise<[Error]>;
    await StableVideoDiffusionPipeline.fromSingleFile(path);
    expect(await warned).toMatchObject([{ name: "VdWarning", message: expect.stringContaining("is a guess") }]);
  });

  it("is what the options say", async () => {
    const options = { ...SINGLE_FILE, clipHeads: 4, clipActivation: "quick_gelu", headChannels: 32 };
    const { imageEncoder, unet, warnings } = await openWarned(tinyFile(), options);
    expect(imageEncoder.config).toMatchObject({ numHeads: 4, act: "quick_gelu" });
    expect(unet.config.numHeads).toEqual([2, 2, 4]);
    expect(warnings).toEqual([]);
    expect((await failureOf(openSingleFile(tinyFile(), { clipActivation: "relu" }))).message).toMatch(/one of gelu/);
  });

  it("is read from configurations beside the file, unless the options say it", async () => {
    const path = tinyFile();
    for (const part of ["unet", "vae", "image_encoder"])
      cpSync(join(TINY_SVD, part, "config.json"), join(dirname(path), part, "config.json"));
    const beside = join(dirname(path), "image_encoder/config.json");
    editJson(beside, { hidden_act: "quick_gelu", num_attention_heads: 8, layer_norm_eps: 1e-6 });
    const read = await openWarned(path, { clipHeads: 4 });
    expect(read.imageEncoder.config).toMatchObject({ act: "quick_gelu", numHeads: 4, layerNormEps: 1e-6 });
    expect([read.vae.config.scalingFactor, read.unet.config.numFrames]).toEqual([0.3237, 14]);
    expect(read.warnings).toEqual([]);
  });

  it("is not read from the configuration of another model", async () => {
    const path = tinyFile();
    const beside = join(dirname(path), "image_encoder/config.json");
    cpSync(join(TINY_SVD, "image_encoder/config.json"), beside);
    editJson(beside, { hidden_act: "quick_gelu", num_hidden_layers: 12 });
    const { imageEncoder, warnings } = await openWarned(path, { ...SINGLE_FILE, headChannels: 64 });
    expect(imageEncoder.config.act).toBe("gelu");
    expect(warnings).toHaveLength(2);
  });
});

describe("a file that is no such checkpoint", () => {
  const messageOf = async (path: string) => (await failureOf(open(path))).message.replaceAll(/\/\S*\//g, "…/");

  it("is an error that says what is missing, or what it is instead", async () => {
    const folder = temporaryFolder();
    const path = (name: string) => join(folder, name);
    writeSingleFile(path("no-decoder.safetensors"), (name) =>
      name.startsWith("first_stage_model.") ? undefined : name,
    );
    writeSingleFile(path("one-less.safetensors"), (name) =>
      name === "model.diffusion_model.time_embed.0.bias" ? undefined : name,
    );
    writeSingleFile(path("other.safetensors"), (name) => name.replace("model.diffusion_model.", "transformer."));
    writeSingleFile(path("cut.safetensors"));
    truncateSync(path("cut.safetensors"), 100_000);
    const messages = await Promise.all(
      [
        path("no-decoder.safetensors"),
        path("one-less.safetensors"),
        path("other.safetensors"),
        path("missing.safetensors"),
        path("cut.safetensors"),
        join(TINY_SVD, WEIGHT_FILES.unet),
        TINY_SVD,
        PICTURE,
      ].map(messageOf),
    );
    expect(messages.join("\n")).toMatchInlineSnapshot(`
      "[…/no-decoder.safetensors] [first_stage_model.decoder.conv_in.weight] expected a Stable Video Diffusion checkpoint in the original names, got 18 missing tensors: first_stage_model.decoder.conv_in.weight, first_stage_model.decoder.conv_in.bias, first_stage_model.decoder.norm_out.weight, …. Files named *_image_decoder hold a decoder without time: use the file without that ending.
      […/one-less.safetensors] [model.diffusion_model.time_embed.0.bias] expected a Stable Video Diffusion checkpoint in the original names, got 1 missing tensors: model.diffusion_model.time_embed.0.bias. The file is damaged, or of another kind of model.
      […/other.safetensors] [unet] expected tensors named like model.diffusion_model.conv_in.weight, got none; the first others are transformer.time_embed.0.weight, transformer.time_embed.0.bias, transformer.time_embed.2.weight, …. Give a single-file checkpoint of Stable Video Diffusion, e.g. svd_xt.safetensors.
      […/missing.safetensors] expected a safetensors file, got no such file or folder. Check the path.
      […/cut.safetensors] expected a header of at most 99992 bytes, got a header length of 143864. The file is cut off or not a safetensors file: download or export it again.
      […/diffusion_pytorch_model.safetensors] [unet] expected tensors named like model.diffusion_model.conv_in.weight, got none; the first others are add_embedding.linear_1.bias, add_embedding.linear_1.weight, add_embedding.linear_2.bias, …. This file is one network of a model in the folder layout: give the model's folder instead.
      […/tiny-svd] expected a safetensors file, got a folder. Pass the file itself, or open the folder as a checkpoint.
      […/one-ball.png] expected a header of at most 7785 bytes, got a header length of 727905341920923785. The file is cut off or not a safetensors file: download or export it again."
    `);
  });
});
