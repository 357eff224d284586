import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromFloat16Array, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { type ComponentName, StableVideoDiffusionPipeline } from "../../src/index";
import { CLIP_MEAN, CLIP_STD, openModelFolder } from "../../src/opening/folder";
import type { ProgressEvent } from "../../src/types";
import { sameBytes } from "../support/measures";
import { tensorsOf } from "../support/rewrite-weights";
import { copyOfTiny, editJson, QUICK, TINY_SVD, WEIGHT_FILES } from "../support/tiny-model";

/** The error of opening a copy of the tiny model after `damage`, with the copy's path left out. */
async function errorAfter(damage: (model: string) => void): Promise<{ code: string; message: string }> {
  const model = copyOfTiny();
  damage(model);
  const error = await failureOf(StableVideoDiffusionPipeline.fromPretrained(model));
  return { code: error.code, message: error.message.replaceAll(model, "MODEL") };
}

/** Writes a network's weights again, changed. */
function rewrite(
  model: string,
  component: ComponentName,
  change: (tensors: ReturnType<typeof tensorsOf>) => ReturnType<typeof tensorsOf>,
): void {
  writeSafetensors(join(model, WEIGHT_FILES[component]), change(tensorsOf(model, component, "F16")));
}

describe("a model folder", () => {
  it("gives every part, and the defaults that suit it", async () => {
    const model = await openModelFolder(TINY_SVD);
    expect(model.unet.config).toMatchObject({ inChannels: 8, blockOutChannels: [64, 64, 128], numFrames: 14 });
    expect(model.vae.config).toMatchObject({ scalingFactor: 0.3237, latentChannels: 4 });
    expect(model.imageEncoder.config).toMatchObject({ projectionDim: 128, act: "gelu" });
    expect(model.clipPixels).toEqual({ size: 224, mean: [...CLIP_MEAN], std: [...CLIP_STD] });
    expect(model.files.map(({ path }) => path.slice(TINY_SVD.length + 1)).sort()).toEqual(
      Object.values(WEIGHT_FILES).sort(),
    );
    const { defaults } = await StableVideoDiffusionPipeline.fromPretrained(TINY_SVD);
    expect(defaults).toMatchObject({ width: 128, height: 128, numFrames: 14, minGuidance: 1, maxGuidance: 2 });
  });

  it("may lack the feature extractor, and name its files as a folder of one network does", async () => {
    const model = copyOfTiny();
    rmSync(join(model, "feature_extractor"), { recursive: true });
    renameSync(join(model, WEIGHT_FILES.vae), join(model, "vae/model.safetensors"));
    const opened = await openModelFolder(model);
    expect(opened.clipPixels.mean).toEqual([...CLIP_MEAN]);
    expect(opened.files).toHaveLength(3);
  });

  it("of another sample size has defaults of whole latents, and a large one the published sizes", async () => {
    const model = copyOfTiny();
    editJson(join(model, "vae/config.json"), { sample_size: 100 });
    expect((await StableVideoDiffusionPipeline.fromPretrained(model)).defaults).toMatchObject({
      width: 96,
      height: 96,
    });
    editJson(join(model, "vae/config.json"), { sample_size: 768 });
    const { defaults } = await StableVideoDiffusionPipeline.fromPretrained(model);
    expect(defaults).toMatchObject({ width: 1024, height: 576, maxGuidance: 3 });
  });
});

describe("a folder that is no model, or not all of one", () => {
  it("tells which file is missing", async () => {
    const messages: string[] = [];
    for (const name of ["model_index.json", "unet/config.json", "scheduler/scheduler_config.json"])
      messages.push((await errorAfter((model) => rmSync(join(model, name)))).message);
    messages.push((await errorAfter((model) => rmSync(join(model, WEIGHT_FILES.unet)))).message);
    messages.push((await errorAfter((model) => rmSync(join(model, "vae"), { recursive: true }))).message);
    const pickled = await errorAfter((model) => {
      renameSync(join(model, WEIGHT_FILES.unet), join(model, "unet/diffusion_pytorch_model.bin"));
    });
    messages.push(pickled.message);
    messages.push(
      (await failureOf(StableVideoDiffusionPipeline.fromPretrained(join(TINY_SVD, "unet")))).message.replace(
        TINY_SVD,
        "MODEL",
      ),
    );
    expect(messages.join("\n")).toMatchInlineSnapshot(`
      "[MODEL/model_index.json] expected a readable configuration file, got no such file. A model folder has model_index.json and the folders unet, vae, image_encoder, scheduler and feature_extractor.
      [MODEL/unet/config.json] expected a readable configuration file, got no such file. A model folder has model_index.json and the folders unet, vae, image_encoder, scheduler and feature_extractor.
      [MODEL/scheduler/scheduler_config.json] expected a readable configuration file, got no such file. A model folder has model_index.json and the folders unet, vae, image_encoder, scheduler and feature_extractor.
      [MODEL/unet] expected weights in .safetensors files, got none. The model is not complete: download or copy it again.
      [MODEL/vae/config.json] expected a readable configuration file, got no such file. A model folder has model_index.json and the folders unet, vae, image_encoder, scheduler and feature_extractor.
      [MODEL/unet] expected weights in .safetensors files, got diffusion_pytorch_model.bin. Such files can run any program and are never loaded. Get the model's safetensors version, or convert it once where you trust it: python -c "from diffusers import StableVideoDiffusionPipeline as P; P.from_pretrained('MODEL', use_safetensors=False).save_pretrained('MODEL-safetensors')"
      [MODEL/unet/model_index.json] expected a readable configuration file, got no such file. A model folder has model_index.json and the folders unet, vae, image_encoder, scheduler and feature_extractor."
    `);
  });

  it("tells of another pipeline's model", async () => {
    const { code, message } = await errorAfter((model) =>
      editJson(join(model, "model_index.json"), { _class_name: "StableDiffusionPipeline" }),
    );
    expect(code).toBe("unsupported");
    expect(message).toMatchInlineSnapshot(
      `"[MODEL/model_index.json] expected a StableVideoDiffusionPipeline, got StableDiffusionPipeline. This package runs Stable Video Diffusion (image to video) models."`,
    );
    const nameless = await errorAfter((model) => editJson(join(model, "model_index.json"), { _class_name: undefined }));
    expect(nameless.message).toContain("got no _class_name");
  });

  it("tells of a file that is no JSON, or no object", async () => {
    const broken = await errorAfter((model) => writeFileSync(join(model, "vae/config.json"), '{"in_channels": '));
    expect(broken).toMatchObject({
      code: "weights",
      message: expect.stringContaining("[MODEL/vae/config.json] expected JSON, got "),
    });
    const list = await errorAfter((model) => writeFileSync(join(model, "vae/config.json"), "[1, 2]"));
    expect(list.message).toContain("[MODEL/vae/config.json] expected a JSON object, got [1,2]");
    const folder = await errorAfter((model) => {
      rmSync(join(model, "unet/config.json"));
      mkdirSync(join(model, "unet/config.json"));
    });
    expect(folder.code).toBe("io");
  });
});

describe("a configuration", () => {
  it.each<[string, string, unknown]>([
    ["unet/config.json", "block_out_channels", [64, 60, 128]],
    ["unet/config.json", "down_block_types", ["DownBlock2D"]],
    ["unet/config.json", "num_attention_heads", [1, 3, 2]],
    ["unet/config.json", "in_channels", -8],
    ["vae/config.json", "block_out_channels", [0]],
    ["vae/config.json", "scaling_factor", "0.18215"],
    ["image_encoder/config.json", "hidden_act", "relu"],
    ["image_encoder/config.json", "hidden_size", 128.5],
    ["feature_extractor/preprocessor_config.json", "image_std", [1, 0, 1]],
    ["feature_extractor/preprocessor_config.json", "image_mean", "0.5"],
  ])("%s with a wrong %s is an error that names both", async (file, key, value) => {
    const { code, message } = await errorAfter((model) => editJson(join(model, file), { [key]: value }));
    expect(code).toBe("weights");
    expect(message).toContain(`[MODEL/${file}] [${key}] expected `);
    expect(message).toContain(`got ${JSON.stringify(value)}`);
  });

  it("that does not match the weights is an error with the first key and both shapes", async () => {
    const wider = await errorAfter((model) =>
      editJson(join(model, "unet/config.json"), { block_out_channels: [64, 96, 128], num_attention_heads: [1, 1, 2] }),
    );
    const taller = await errorAfter((model) => editJson(join(model, "vae/config.json"), { layers_per_block: 3 }));
    const finer = await errorAfter((model) => editJson(join(model, "image_encoder/config.json"), { patch_size: 16 }));
    expect([wider, taller, finer].map(({ message }) => message).join("\n")).toMatchInlineSnapshot(`
      "[MODEL/unet/diffusion_pytorch_model.safetensors] [down_blocks.1.resnets.0.spatial_res_block.conv1.weight] expected a shape of [96,64,3,3], got [64,64,3,3]. The first key that does not fit: config.json and the weights must come from the same model.
      [MODEL/vae/diffusion_pytorch_model.safetensors] [encoder.down_blocks.0.resnets.2.norm1.weight] expected a weight of [64], got none; nearest: encoder.down_blocks.0.resnets.0.norm1.weight, encoder.down_blocks.0.resnets.1.norm1.weight, encoder.down_blocks.0.resnets.0.norm2.weight. The first key that does not fit: config.json and the weights must come from the same model.
      [MODEL/image_encoder/model.safetensors] [vision_model.embeddings.patch_embedding.weight] expected a shape of [128,3,16,16], got [128,3,32,32]. The first key that does not fit: config.json and the weights must come from the same model."
    `);
  });

  it("of a part that does not fit the others is an error that names both sizes", async () => {
    const conditions = await errorAfter((model) => {
      editJson(join(model, "unet/config.json"), { addition_time_embed_dim: 128 });
    });
    expect(conditions.message).toMatchInlineSnapshot(
      `"[MODEL] [unet projection_class_embeddings_input_dim] expected 384 (3 times addition_time_embed_dim), got 768. The parts of the folder come from different models."`,
    );
    const projection = await errorAfter((model) => {
      editJson(join(model, "image_encoder/config.json"), { projection_dim: 64 });
      rewrite(model, "image_encoder", (tensors) =>
        tensors.map((tensor) =>
          tensor.name === "visual_projection.weight"
            ? { ...tensor, shape: [64, 128], data: (tensor.data as Uint8Array).slice(0, 2 * 64 * 128) }
            : tensor,
        ),
      );
    });
    expect(projection.message).toMatchInlineSnapshot(
      `"[MODEL] [unet cross_attention_dim] expected 64 (the image encoder's projection_dim), got 128. The parts of the folder come from different models."`,
    );
  });
});

describe("weights", () => {
  it("with a key too few or one of another shape are refused by name", async () => {
    const without = await errorAfter((model) =>
      rewrite(model, "unet", (tensors) => tensors.filter(({ name }) => name !== "conv_norm_out.bias")),
    );
    const turned = await errorAfter((model) =>
      rewrite(model, "unet", (tensors) =>
        tensors.map((tensor) =>
          tensor.name === "add_embedding.linear_1.weight" ? { ...tensor, shape: [...tensor.shape].reverse() } : tensor,
        ),
      ),
    );
    expect([without, turned].map(({ message }) => message).join("\n")).toMatchInlineSnapshot(`
      "[MODEL/unet/diffusion_pytorch_model.safetensors] [conv_norm_out.bias] expected a weight of [64], got none; nearest: conv_norm_out.weight, conv_out.bias, conv_in.bias. The first key that does not fit: config.json and the weights must come from the same model.
      [MODEL/unet/diffusion_pytorch_model.safetensors] [add_embedding.linear_1.weight] expected a shape of [256,768], got [768,256]. The first key that does not fit: config.json and the weights must come from the same model."
    `);
    expect([without.code, turned.code]).toEqual(["weights", "weights"]);
  });

  /** The messages of opening a copy of the tiny model after `change`, and what it generates. */
  async function warningsAfter(change: (model: string) => void) {
    const model = copyOfTiny();
    change(model);
    const warnings: string[] = [];
    const onProgress = ({ message }: ProgressEvent) => message && warnings.push(message.replaceAll(model, "MODEL"));
    const pipeline = await openTinyFrom(model, onProgress);
    return { warnings: warnings.filter((text) => text !== "MODEL"), data: (await pipeline.generate(QUICK)).data };
  }
  const openTinyFrom = (model: string, onProgress?: (event: ProgressEvent) => void) =>
    StableVideoDiffusionPipeline.fromPretrained(model, { threads: 2, onProgress });

  it("that no part takes are warned of, as the reference does", async () => {
    const { warnings, data } = await warningsAfter((model) =>
      rewrite(model, "vae", (tensors) => [
        ...tensors,
        { name: "lora.up", dtype: "F16" as const, shape: [2], data: new Uint8Array(4) },
      ]),
    );
    expect(warnings).toEqual([
      "MODEL (vae): 1 weights are not used: lora.up. If the configuration and the weights come from different models, or the model has parts that this package does not know, its videos will be wrong.",
    ]);
    expect(sameBytes(data, (await (await openTinyFrom(TINY_SVD)).generate(QUICK)).data)).toBe(true);
  });

  it("in float64, and of different types where they are put together, give the same frames, with a warning", async () => {
    const floats = (bytes: unknown) => fromFloat16Array(new Uint16Array((bytes as Uint8Array).slice().buffer));
    const { warnings, data } = await warningsAfter((model) => {
      rewrite(model, "image_encoder", (tensors) =>
        tensors.map((tensor) => ({ ...tensor, dtype: "F64", data: Float64Array.from(floats(tensor.data)) })),
      );
      rewrite(model, "unet", (tensors) =>
        tensors.map((tensor) =>
          tensor.name.endsWith("attn1.to_k.weight") ? { ...tensor, dtype: "F32", data: floats(tensor.data) } : tensor,
        ),
      );
    });
    expect(warnings.filter((text) => text.includes("stored in float64"))).toHaveLength(1);
    expect(warnings.filter((text) => text.includes("have different types (f16, f32, f16)")).length).toBeGreaterThan(3);
    expect(sameBytes(data, (await (await openTinyFrom(TINY_SVD)).generate(QUICK)).data)).toBe(true);
  });

  it("may come with the index buffers of older versions", async () => {
    const model = copyOfTiny();
    const indices = new BigInt64Array(50);
    const name = "vision_model.embeddings.position_ids";
    rewrite(model, "image_encoder", (tensors) => [...tensors, { name, dtype: "I64", shape: [1, 50], data: indices }]);
    expect((await StableVideoDiffusionPipeline.fromPretrained(model)).defaults.width).toBe(128);
  });

  it("cut off anywhere are refused, with how much is there", async () => {
    const size = readFileSync(join(TINY_SVD, WEIGHT_FILES.vae)).length;
    for (const bytes of [0, 5, 1000, size - 1]) {
      const { code, message } = await errorAfter((model) => truncateSync(join(model, WEIGHT_FILES.vae), bytes));
      expect([bytes, code]).toEqual([bytes, "weights"]);
      expect(message).toMatch(/^\[MODEL\/vae\/diffusion_pytorch_model\.safetensors/);
    }
  });

  it("of a pointer that was never fetched are refused with what to do", async () => {
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n";
    const { message } = await errorAfter((model) => writeFileSync(join(model, WEIGHT_FILES.unet), pointer));
    expect(message).toContain("git lfs pull");
  });

  it("are left as they are", () => {
    expect(readdirSync(join(TINY_SVD, "unet")).sort()).toEqual(["config.json", "diffusion_pytorch_model.safetensors"]);
  });
});
