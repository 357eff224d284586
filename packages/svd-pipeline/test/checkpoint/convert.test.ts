import type { TensorEntry } from "@vd/hub";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { thrownBy } from "../../../../tooling/testing/failure";
import {
  COMPONENT_NAMES,
  type ComponentName,
  type ComponentSources,
  diffusersToOriginal,
  originalToDiffusers,
} from "../../src/checkpoint/index";
import { clipEntries, type Model, modelOf, SVD_XT, unetEntries, vaeEntries } from "./diffusers-names";
import { decoderEntries, encoderEntries, openClipEntries, publishedEntries } from "./original-names";

type Described = Iterable<readonly [string, { dtype: string; shape: readonly number[] }]>;
const described = (entries: Described) =>
  [...entries].map(([name, { dtype, shape }]) => `${name} ${dtype} [${shape}]`).sort();
const listed = (entries: readonly TensorEntry[]) => described(entries.map((entry) => [entry.name, entry] as const));
const asEntries = (map: Described): TensorEntry[] =>
  [...map].map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
const count = (entries: readonly TensorEntry[]) =>
  entries.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);

function expectModel(sources: ComponentSources, model: Model): void {
  expect([...sources.keys()]).toEqual([...COMPONENT_NAMES]);
  for (const name of COMPONENT_NAMES) expect(described(sources.get(name)!)).toEqual(listed(model.get(name)!));
}

describe("SVD-XT at full size", () => {
  const model = modelOf(SVD_XT);
  const published = publishedEntries(SVD_XT);

  it("is described by lists with the published models' numbers of parameters", () => {
    const sizes = COMPONENT_NAMES.map((name) => count(model.get(name)!));
    expect(sizes).toEqual([1_524_623_082, 97_742_847, 632_076_800]);
    // A reader of the published file counts 106 tensors in this part.
    expect(published.filter(({ name }) => name.startsWith("first_stage_model.encoder."))).toHaveLength(106);
  });

  it("has every name and shape of the folder layout when read from the published file", () => {
    expectModel(originalToDiffusers(published), model);
  });

  it("takes the encoder that belongs to quant_conv and the decoder with time", () => {
    const vae = originalToDiffusers(published, { components: ["vae"] }).get("vae")!;
    const nameOf = (name: string) => (vae.get(name) as { name: string }).name;
    expect(nameOf("encoder.conv_in.weight")).toBe("conditioner.embedders.3.encoder.encoder.conv_in.weight");
    expect(nameOf("quant_conv.bias")).toBe("conditioner.embedders.3.encoder.quant_conv.bias");
    expect(nameOf("decoder.conv_in.weight")).toBe("first_stage_model.decoder.conv_in.weight");
    expect(nameOf("decoder.time_conv_out.weight")).toBe("first_stage_model.decoder.conv_out.time_mix_conv.weight");
    expect(nameOf("decoder.up_blocks.0.resnets.0.time_mixer.mix_factor")).toBe(
      "first_stage_model.decoder.up.3.block.0.mix_factor",
    );
  });

  it("cuts, turns and flattens where the two sides differ", () => {
    const sources = originalToDiffusers(published);
    const clip = sources.get("image_encoder")!;
    const layer = "conditioner.embedders.0.open_clip.model.visual.transformer.resblocks.31.attn";
    expect(clip.get("vision_model.encoder.layers.31.self_attn.k_proj.weight")).toEqual({
      name: `${layer}.in_proj_weight`,
      rows: [1280, 2560],
      dtype: "F16",
      shape: [1280, 1280],
    });
    expect(clip.get("vision_model.encoder.layers.31.self_attn.v_proj.bias")).toEqual({
      name: `${layer}.in_proj_bias`,
      rows: [2560, 3840],
      dtype: "F16",
      shape: [1280],
    });
    expect(clip.get("visual_projection.weight")).toEqual({
      name: "conditioner.embedders.0.open_clip.model.visual.proj",
      transpose: true,
      dtype: "F16",
      shape: [1024, 1280],
    });
    expect(sources.get("vae")!.get("decoder.mid_block.attentions.0.to_q.weight")).toEqual({
      name: "first_stage_model.decoder.mid.attn_1.q.weight",
      reshape: [512, 512],
      dtype: "F16",
      shape: [512, 512],
    });
    expect(sources.get("unet")!.get("up_blocks.1.upsamplers.0.conv.weight")).toMatchObject({
      name: "model.diffusion_model.output_blocks.5.2.conv.weight",
    });
    expect(sources.get("unet")!.get("up_blocks.0.upsamplers.0.conv.weight")).toMatchObject({
      name: "model.diffusion_model.output_blocks.2.1.conv.weight",
    });
  });

  it("comes back to what a published file holds of it", () => {
    const original = diffusersToOriginal(model);
    const unread =
      /^first_stage_model\.encoder\.|\.encoder\.(?:decoder|post_quant_conv)\.|open_clip\.model\.(?!visual)/;
    expect(described(original)).toEqual(listed(published.filter(({ name }) => !unread.test(name))));
    expectModel(originalToDiffusers(asEntries(original)), model);
  });
});

describe("other models of the family", () => {
  const level = fc.record({
    channels: fc.constantFrom(32, 64, 96, 128),
    layers: fc.integer({ min: 1, max: 3 }),
    down: fc.integer({ min: 0, max: 2 }),
    up: fc.integer({ min: 0, max: 2 }),
  });
  const shape = fc.record({
    levels: fc.array(level, { minLength: 1, maxLength: 4 }),
    middleDepth: fc.integer({ min: 1, max: 2 }),
    vaeLevels: fc.array(fc.constantFrom(32, 64, 96), { minLength: 1, maxLength: 4 }),
    vaeLayers: fc.integer({ min: 1, max: 3 }),
    clipLayers: fc.integer({ min: 1, max: 12 }),
    latentChannels: fc.integer({ min: 1, max: 8 }),
  });
  const clip = { hidden: 64, intermediate: 128, patch: 8, image: 24, projection: 40 };
  type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;
  const shapesOf = ({ levels, middleDepth, vaeLevels, vaeLayers, clipLayers, latentChannels }: Shape) => ({
    unet: {
      inChannels: latentChannels * 2,
      outChannels: latentChannels,
      blockOutChannels: levels.map(({ channels }) => channels),
      layersPerBlock: levels.map(({ layers }) => layers),
      downDepths: levels.map(({ down }) => down),
      upDepths: levels.map(({ up }) => up).reverse(),
      middleDepth,
      crossAttentionDim: 40,
      additionInput: 96,
    },
    vae: { inChannels: 3, outChannels: 3, latentChannels, blockOutChannels: vaeLevels, layersPerBlock: vaeLayers },
    clip: { ...clip, layers: clipLayers },
  });

  it("survive the way there and back, whatever their blocks", () => {
    fc.assert(
      fc.property(shape, (drawn) => {
        const model = modelOf(shapesOf(drawn));
        const original = diffusersToOriginal(model);
        expectModel(originalToDiffusers(asEntries(original)), model);
      }),
      { seed: 11, numRuns: 60 },
    );
  });

  it("agree with Stability's classes where those can build them", () => {
    fc.assert(
      fc.property(shape, (drawn) => {
        const { unet, vae, clip } = shapesOf(drawn);
        // The same attention up and down, the same layers everywhere, two blocks in the decoder's middle.
        unet.upDepths = [...unet.downDepths].reverse();
        unet.layersPerBlock = unet.layersPerBlock.map(() => drawn.levels[0]!.layers);
        vae.layersPerBlock = 2;
        const shapes = { unet, vae, clip };
        expectModel(originalToDiffusers(publishedEntries(shapes)), modelOf(shapes));
      }),
      { seed: 12, numRuns: 60 },
    );
  });
});

describe("variants of the file", () => {
  const small = {
    unet: { ...SVD_XT.unet, blockOutChannels: [64, 128], layersPerBlock: [1, 1], downDepths: [1, 0], upDepths: [0, 1] },
    vae: { ...SVD_XT.vae, blockOutChannels: [32, 64] },
    clip: { ...SVD_XT.clip, hidden: 64, layers: 2, intermediate: 128 },
  };
  const model = modelOf(small);
  const published = publishedEntries(small);
  const without = (pattern: RegExp) => published.filter(({ name }) => !pattern.test(name));

  it("an autoencoder wholly in first_stage_model", () => {
    const quant: TensorEntry[] = [
      { name: "first_stage_model.quant_conv.weight", dtype: "F16", shape: [8, 8, 1, 1] },
      { name: "first_stage_model.quant_conv.bias", dtype: "F16", shape: [8] },
    ];
    const sources = originalToDiffusers([...without(/^conditioner\.embedders\.3/), ...quant]);
    expectModel(sources, model);
    expect(sources.get("vae")!.get("encoder.conv_in.bias")).toMatchObject({
      name: "first_stage_model.encoder.conv_in.bias",
    });
  });

  it("an encoder with quant_conv folded in, as merging tools write it", () => {
    const sources = originalToDiffusers(without(/^conditioner\.embedders\.3/));
    expectModel(sources, model);
    const vae = sources.get("vae")!;
    expect(vae.get("quant_conv.weight")).toEqual({ made: "identity", dtype: "F16", shape: [8, 8, 1, 1] });
    expect(vae.get("quant_conv.bias")).toEqual({ made: "zeros", dtype: "F16", shape: [8] });
  });

  it("the last layer under its earlier name", () => {
    const earlier = published.map((entry) => ({ ...entry, name: entry.name.replace("conv_out.time_mix", "time_mix") }));
    expectModel(originalToDiffusers(earlier), model);
  });

  it("transformers with 1×1 convolutions", () => {
    const asConvolution = published.map((entry) =>
      /proj_(?:in|out)\.weight$/.test(entry.name) && entry.name.startsWith("model.")
        ? { ...entry, shape: [...entry.shape, 1, 1] }
        : entry,
    );
    const sources = originalToDiffusers(asConvolution);
    expectModel(sources, model);
    expect(sources.get("unet")!.get("mid_block.attentions.0.proj_in.weight")).toMatchObject({ reshape: [128, 128] });
  });

  it("averages of training and other numbers of embedders are no obstacle", () => {
    const more = [
      "model_ema.decay",
      "model_ema.diffusion_modelout2bias",
      "first_stage_model.loss.logvar",
      "denoiser.sigmas",
    ];
    const moved = published.map((entry) => ({ ...entry, name: entry.name.replace("embedders.3.", "embedders.1.") }));
    expectModel(originalToDiffusers([...moved, ...more.map((name) => ({ name, dtype: "F32", shape: [1] }))]), model);
  });

  it("only the networks asked for", () => {
    const onlyClip = openClipEntries(small.clip);
    const sources = originalToDiffusers(onlyClip, { components: ["image_encoder"] });
    expect([...sources.keys()]).toEqual(["image_encoder"]);
    expect(thrownBy(() => originalToDiffusers(onlyClip)).where).toBe("unet");
  });
});

describe("errors", () => {
  const published = publishedEntries(SVD_XT);
  const missingError = (pattern: RegExp) =>
    thrownBy(() => originalToDiffusers(published.filter(({ name }) => !pattern.test(name))));

  it.each([
    [
      /input_blocks\.4\.1\.time_stack\.0\.attn2\.to_k/,
      "1 missing tensors: model.diffusion_model.input_blocks.4.1.time_stack.0.attn2.to_k.weight",
    ],
    [/first_stage_model\.decoder\.up\.2\.block\.1\.mix_factor/, "first_stage_model.decoder.up.2.block.1.mix_factor"],
    [/open_clip\.model\.visual\.proj$/, "conditioner.embedders.0.open_clip.model.visual.proj"],
    [/input_blocks\.5\./, "model.diffusion_model.input_blocks.5.0.in_layers.0.weight"],
    [/quant_conv\.bias/, "conditioner.embedders.3.encoder.quant_conv.bias"],
    [/time_stack|time_mix|time_pos|mix_factor/, "missing tensors: model.diffusion_model.input_blocks.1.0.time_stack"],
  ])("names what is missing (%s)", (pattern, expected) => {
    const error = missingError(pattern);
    expect(error.code).toBe("weights");
    expect(error.got).toContain(expected);
  });

  it.each([
    "model.diffusion_model.input_blocks.1.0.extra.weight",
    "model.diffusion_model.input_blocks.999999999.0.op.weight",
    "first_stage_model.decoder.up.0.attn.0.q.weight",
    "conditioner.embedders.0.open_clip.model.visual.transformer.resblocks.0.ls_1.gamma",
    "lora_unet.up.weight",
  ])("names what is unknown (%s)", (name) => {
    const error = thrownBy(() => originalToDiffusers([...published, { name, dtype: "F16", shape: [1] }]));
    expect(error.got).toContain(name);
  });

  it("explains the file with the image decoder", () => {
    const shape = SVD_XT.vae;
    const entries = [
      ...published.filter(({ name }) => !name.startsWith("first_stage_model.")),
      ...encoderEntries("first_stage_model.encoder", shape),
      ...decoderEntries("first_stage_model.decoder", shape, false),
    ];
    expect(thrownBy(() => originalToDiffusers(entries)).hint).toMatch(/_image_decoder hold a decoder without time/);
  });

  it("tells a network of the folder layout and an unrelated file apart", () => {
    for (const entries of [unetEntries(SVD_XT.unet), vaeEntries(SVD_XT.vae), clipEntries(SVD_XT.clip)]) {
      expect(thrownBy(() => originalToDiffusers(entries)).hint).toMatch(/give the model's folder instead/);
    }
    const error = thrownBy(() => originalToDiffusers([{ name: "bert.layer", dtype: "F32", shape: [3] }]));
    expect(error.message).toMatch(/named like model\.diffusion_model\.conv_in\.weight.*bert\.layer.*svd_xt/);
    expect(thrownBy(() => originalToDiffusers([])).got).toBe("none");
  });

  it.each([
    [/\.0\.attn\.in_proj_weight$/, [3841, 1280], /3 equal parts/],
    [/visual\.proj$/, [1280, 1024, 1], /two dimensions/],
    [/encoder\.mid\.attn_1\.q\.weight$/, [512, 512, 3, 3], /1×1 convolution/],
  ])("names a tensor of a wrong shape (%s)", (pattern, shape, message) => {
    const entries = published.map((entry) => (pattern.test(entry.name) ? { ...entry, shape } : entry));
    expect(thrownBy(() => originalToDiffusers(entries)).message).toMatch(message);
  });

  it("works in the other direction too", () => {
    const change = (component: ComponentName, edit: (entries: TensorEntry[]) => TensorEntry[]) => {
      const model = modelOf(SVD_XT);
      model.set(component, edit(model.get(component)!));
      return thrownBy(() => diffusersToOriginal(model)).message;
    };
    const extra = { name: "down_blocks.0.lora.weight", dtype: "F16", shape: [1] };
    expect(change("unet", (entries) => [...entries, extra])).toMatch(
      /unknown tensors: unet: down_blocks\.0\.lora\.weight/,
    );
    expect(change("vae", (entries) => entries.slice(1))).toMatch(/missing tensors: vae: encoder\.conv_in\.weight/);
    const wide = (entries: TensorEntry[]) =>
      entries.map((entry) =>
        entry.name.endsWith("layers.3.self_attn.k_proj.weight") ? { ...entry, shape: [1280, 7] } : entry,
      );
    expect(change("image_encoder", wide)).toMatch(
      /the type and width of vision_model\.encoder\.layers\.3\.self_attn\.q_proj/,
    );
  });

  it("an export that has old lists of indices is read all the same", () => {
    const model = modelOf(SVD_XT);
    const ids = { name: "vision_model.embeddings.position_ids", dtype: "I64", shape: [1, 257] };
    model.get("image_encoder")!.push(ids);
    expect(diffusersToOriginal(model).size).toBeGreaterThan(1000);
  });
});
