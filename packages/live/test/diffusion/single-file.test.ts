import { cpSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { SafetensorsFile, type TensorToWrite, writeSafetensors } from "@vd/tensor";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { unetPairs, vaePairs } from "../../src/diffusion/original-names";
import { createLiveSession, type LiveSessionOptions } from "../../src/index";
import { STABLE_DIFFUSION, slope } from "../support/stable-diffusion";

type Stored = { dtype: string; shape: readonly number[]; bytes: Uint8Array };

/** The tensors of a network of the folder. */
function tensorsOf(part: string): Map<string, Stored> {
  const name = part === "text_encoder" ? "model" : "diffusion_pytorch_model";
  using file = SafetensorsFile.open(join(STABLE_DIFFUSION, part, `${name}.safetensors`));
  return new Map(
    [...file.entries.values()].map(({ name, dtype, shape }) => [
      name,
      { dtype, shape, bytes: file.readBytes(name).slice() },
    ]),
  );
}

/** Names of blocks of a UNet as Stable Diffusion's own code numbers them, each with its place in the folder; written by hand. */
const UNET_BLOCKS: readonly (readonly [original: string, diffusers: string])[] = [
  ["time_embed.0", "time_embedding.linear_1"],
  ["time_embed.2", "time_embedding.linear_2"],
  ["input_blocks.0.0", "conv_in"],
  ["input_blocks.1.0", "down_blocks.0.resnets.0"],
  ["input_blocks.1.1", "down_blocks.0.attentions.0"],
  ["input_blocks.2.0.op", "down_blocks.0.downsamplers.0.conv"],
  ["input_blocks.3.0", "down_blocks.1.resnets.0"],
  ["middle_block.0", "mid_block.resnets.0"],
  ["middle_block.1", "mid_block.attentions.0"],
  ["middle_block.2", "mid_block.resnets.1"],
  ["output_blocks.0.0", "up_blocks.0.resnets.0"],
  ["output_blocks.1.0", "up_blocks.0.resnets.1"],
  ["output_blocks.1.1.conv", "up_blocks.0.upsamplers.0.conv"],
  ["output_blocks.2.0", "up_blocks.1.resnets.0"],
  ["output_blocks.2.1", "up_blocks.1.attentions.0"],
  ["output_blocks.3.0", "up_blocks.1.resnets.1"],
  ["output_blocks.3.1", "up_blocks.1.attentions.1"],
  ["out.0", "conv_norm_out"],
  ["out.2", "conv_out"],
];
const VAE_BLOCKS: readonly (readonly [original: string, diffusers: string])[] = [
  ["quant_conv", "quant_conv"],
  ["post_quant_conv", "post_quant_conv"],
  ["encoder.conv_in", "encoder.conv_in"],
  ["encoder.down.0.block.0", "encoder.down_blocks.0.resnets.0"],
  ["encoder.down.0.downsample.conv", "encoder.down_blocks.0.downsamplers.0.conv"],
  ["encoder.down.1.block.0", "encoder.down_blocks.1.resnets.0"],
  ["decoder.conv_in", "decoder.conv_in"],
  ["decoder.up.1.block.0", "decoder.up_blocks.0.resnets.0"],
  ["decoder.up.1.block.1", "decoder.up_blocks.0.resnets.1"],
  ["decoder.up.1.upsample.conv", "decoder.up_blocks.0.upsamplers.0.conv"],
  ["decoder.up.0.block.0", "decoder.up_blocks.1.resnets.0"],
  ["decoder.up.0.block.1", "decoder.up_blocks.1.resnets.1"],
  ...["encoder", "decoder"].flatMap((side) => [
    [`${side}.mid.block_1`, `${side}.mid_block.resnets.0`] as const,
    [`${side}.mid.attn_1`, `${side}.mid_block.attentions.0`] as const,
    [`${side}.mid.block_2`, `${side}.mid_block.resnets.1`] as const,
    [`${side}.norm_out`, `${side}.conv_norm_out`] as const,
    [`${side}.conv_out`, `${side}.conv_out`] as const,
  ]),
];
/** Layers inside of blocks where the original says otherwise. */
const UNET_LAYERS: Readonly<Record<string, string>> = {
  ...{ norm1: "in_layers.0", conv1: "in_layers.2", time_emb_proj: "emb_layers.1", norm2: "out_layers.0" },
  ...{ conv2: "out_layers.3", conv_shortcut: "skip_connection" },
};
const VAE_LAYERS: Readonly<Record<string, string>> = {
  ...{ conv_shortcut: "nin_shortcut", group_norm: "norm", to_q: "q", to_k: "k", to_v: "v", "to_out.0": "proj_out" },
};

/** A network's tensors in the original names. */
function renamed(part: string, blocks: typeof UNET_BLOCKS, layers: Readonly<Record<string, string>>, prefix: string) {
  return [...tensorsOf(part)].map(([name, stored]): TensorToWrite => {
    const [original, diffusers] = blocks.find(([, block]) => name.startsWith(`${block}.`))!;
    const rest = name.slice(diffusers.length + 1);
    const layer = rest.replace(/\.?(?:weight|bias)$/, "");
    const parameter = rest.slice(layer.length).replace(/^\./, "");
    const inside = [layers[layer] ?? layer, parameter].filter((each) => each !== "").join(".");
    // The autoencoder's attention is stored as 1×1 convolutions.
    const isFlat = part === "vae" && stored.shape.length === 2;
    const shape = isFlat ? [...stored.shape, 1, 1] : stored.shape;
    return { name: `${prefix}${original}.${inside}`, dtype: stored.dtype as "F16", shape, data: stored.bytes };
  });
}

const asVersion1 = (): TensorToWrite[] =>
  [...tensorsOf("text_encoder")].map(([name, { dtype, shape, bytes }]) => ({
    name: `cond_stage_model.transformer.${name}`,
    ...{ dtype: dtype as "F16", shape, data: bytes },
  }));

/** Version 2's text encoder: query, key and value in one, and a last layer that nobody uses. */
function asVersion2(): TensorToWrite[] {
  const stored = tensorsOf("text_encoder");
  const prefix = "cond_stage_model.model.";
  const tensors: TensorToWrite[] = [];
  const add = (original: string, ...names: string[]) => {
    const parts = names.map((name) => stored.get(`text_model.${name}`)!);
    const [first, ...dims] = parts[0]!.shape;
    const shape = [first! * parts.length, ...dims];
    tensors.push({
      name: prefix + original,
      dtype: "F16",
      shape,
      data: Buffer.concat(parts.map(({ bytes }) => bytes)),
    });
  };
  add("token_embedding.weight", "embeddings.token_embedding.weight");
  add("positional_embedding", "embeddings.position_embedding.weight");
  for (const i of [0, 1, 2]) {
    const [to, from] = [`transformer.resblocks.${i}`, `encoder.layers.${Math.min(i, 1)}`];
    for (const p of ["weight", "bias"]) {
      add(`${to}.attn.in_proj_${p}`, ...["q", "k", "v"].map((each) => `${from}.self_attn.${each}_proj.${p}`));
      for (const [a, b] of [
        ["ln_1", "layer_norm1"],
        ["ln_2", "layer_norm2"],
        ["attn.out_proj", "self_attn.out_proj"],
        ["mlp.c_fc", "mlp.fc1"],
        ["mlp.c_proj", "mlp.fc2"],
      ])
        add(`${to}.${a}.${p}`, `${from}.${b}.${p}`);
    }
  }
  for (const p of ["weight", "bias"]) add(`ln_final.${p}`, `final_layer_norm.${p}`);
  tensors.push({ name: `${prefix}logit_scale`, dtype: "F16", shape: [1], data: new Uint8Array(2) });
  return tensors;
}

/** A file with all networks, beside it the configurations that weights do not tell. */
async function writeFile(text: TensorToWrite[], leaveOut: RegExp = /^$/): Promise<string> {
  const path = join(temporaryFolder(), "model.safetensors");
  for (const name of ["unet/config.json", "text_encoder/config.json", "scheduler", "tokenizer"]) {
    mkdirSync(dirname(join(dirname(path), name)), { recursive: true });
    cpSync(join(STABLE_DIFFUSION, name), join(dirname(path), name), { recursive: true });
  }
  const table: TensorToWrite = { name: "alphas_cumprod", dtype: "F32", shape: [2], data: new Float32Array(2) };
  const tensors = [
    ...renamed("unet", UNET_BLOCKS, UNET_LAYERS, "model.diffusion_model."),
    ...renamed("vae", VAE_BLOCKS, VAE_LAYERS, "first_stage_model."),
    ...text,
    table,
  ];
  await writeSafetensors(
    path,
    tensors.filter(({ name }) => !leaveOut.test(name)),
  );
  return path;
}

async function firstFrame(options: LiveSessionOptions): Promise<Uint8Array> {
  const session = await createLiveSession({ pace: "reader", prompt: "a photo of the cat", threads: 1, ...options });
  session.push(slope(120));
  const { value } = await session[Symbol.asyncIterator]().next();
  const data = value.data.slice();
  await session.close();
  return data;
}

test.each([
  ["version 1", asVersion1],
  ["version 2", asVersion2],
])("a checkpoint in one file gives the folder's frames, %s", async (_, text) => {
  const expected = await firstFrame({ model: STABLE_DIFFUSION });
  const path = await writeFile(text());
  expect(await firstFrame({ model: path })).toEqual(expected);
});

test("what is missing or foreign is named", async () => {
  const broken = await writeFile(asVersion1(), /output_blocks\.2\.0\.in_layers\.2\.weight/);
  await expect(firstFrame({ model: broken })).rejects.toThrow(/output_blocks.2.0.in_layers.2.weight/);
  const without = await writeFile(asVersion1(), /^first_stage_model/);
  await expect(firstFrame({ model: without })).rejects.toThrow(/all networks of Stable Diffusion/);
  const path = await writeFile(asVersion1());
  rmSync(join(dirname(path), "tokenizer"), { recursive: true });
  await expect(firstFrame({ model: path })).rejects.toThrow(/vocab.json/);
  expect(await firstFrame({ model: path, tokenizer: join(STABLE_DIFFUSION, "tokenizer") })).toHaveLength(32 * 32 * 3);
});

test("names of Stable Diffusion 1.5 as its file has them", () => {
  const unet = new Map(unetPairs(new Set(sd15Names())).map(({ original, diffusers }) => [original, diffusers]));
  expect(unet.get("input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight")).toBe(
    "down_blocks.1.attentions.0.transformer_blocks.0.attn2.to_k.weight",
  );
  expect(unet.get("output_blocks.5.2.conv.weight")).toBe("up_blocks.1.upsamplers.0.conv.weight");
  expect(unet.get("output_blocks.11.1.proj_out.bias")).toBe("up_blocks.3.attentions.2.proj_out.bias");
  const vae = vaePairs(new Set(["decoder.up.3.block.2.conv1.weight", "decoder.up.0.block.0.conv1.weight"]));
  expect(vae.find(({ original }) => original === "decoder.up.3.block.2.conv1.weight")!.diffusers).toBe(
    "decoder.up_blocks.0.resnets.2.conv1.weight",
  );
});

/** As many names of the published file as its blocks are told by. */
function sd15Names(): string[] {
  const names: string[] = [];
  for (let i = 1; i < 12; i++) {
    if (i % 3 === 0) names.push(`input_blocks.${i}.0.op.weight`);
    else names.push(`input_blocks.${i}.0.in_layers.2.weight`);
    if (i % 3 !== 0 && i < 9) names.push(`input_blocks.${i}.1.transformer_blocks.0.norm1.weight`);
  }
  names.push("middle_block.1.transformer_blocks.0.norm1.weight");
  for (let i = 0; i < 12; i++) {
    names.push(`output_blocks.${i}.0.in_layers.2.weight`);
    if (i >= 3) names.push(`output_blocks.${i}.1.transformer_blocks.0.norm1.weight`);
    if (i === 2) names.push("output_blocks.2.1.conv.weight");
    if (i === 5 || i === 8) names.push(`output_blocks.${i}.2.conv.weight`);
  }
  return names;
}
