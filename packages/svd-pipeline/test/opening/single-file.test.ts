import { truncateSync } from "node:fs";
import { join } from "node:path";
import { SafetensorsFile, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { StableVideoDiffusionPipeline } from "../../src/index";
import { sameBytes } from "../support/measures";
import { SINGLE_FILE, writeSingleFile } from "../support/single-file";
import { openTiny, PICTURE, QUICK, TINY_SVD, temporaryFolder, WEIGHT_FILES } from "../support/tiny-model";

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
      […/cut.safetensors] expected a header of at most 99992 bytes, got a header length of 144056. The file is cut off or not a safetensors file: download or export it again.
      […/diffusion_pytorch_model.safetensors] [unet] expected tensors named like model.diffusion_model.conv_in.weight, got none; the first others are add_embedding.linear_1.bias, add_embedding.linear_1.weight, add_embedding.linear_2.bias, …. This file is one network of a model in the folder layout: give the model's folder instead.
      […/tiny-svd] expected a safetensors file, got a folder. Pass the file itself, or open the folder as a checkpoint.
      […/one-ball.png] expected a header of at most 7785 bytes, got a header length of 727905341920923785. The file is cut off or not a safetensors file: download or export it again."
    `);
  });
});
