import { COUNT, oneOfThese, requireArgument, requireFields } from "@vd/kernels-native";
import { GRAPH, type Graph, type Pausable, randomWeights, runAtOnce } from "@vd/tensor";
import { parsePictureVaeConfig, pictureVae, type TinyLayer } from "@vd/vae-opt";
import { clipText, parseClipTextConfig } from "../models/clip-text/index";
import { parseUnet2dConditionConfig, unet2dCondition } from "../models/unet-2d-condition/index";
import { fullCodec, tinyCodec } from "./codec";
import { pictureInfo } from "./model-info";
import type { DiffusionModel } from "./types";

/** Every published layout that random weights can be made for. */
export const RANDOM_LAYOUTS = ["sd15", "sd-turbo"] as const;

const LAYOUT = oneOfThese(RANDOM_LAYOUTS);

/** Everything that a session can make of random weights: published layouts, and the reference for real-time work. */
export const RANDOM_MODELS = [...RANDOM_LAYOUTS, "unet-chain"] as const;

/** What a session can make of random weights. */
export type RandomModel = (typeof RANDOM_MODELS)[number];

/** A published layout: Stable Diffusion 1.5, or SD-Turbo, which is Stable Diffusion 2's, with a tiny autoencoder. */
export type RandomLayout = (typeof RANDOM_LAYOUTS)[number];

/** `unet/config.json` where it differs from the class's defaults. Sources: huggingface.co stable-diffusion-v1-5, stabilityai/sd-turbo. */
export const UNET_CONFIGS: Readonly<Record<RandomLayout, Record<string, unknown>>> = {
  sd15: { sample_size: 64, attention_head_dim: 8, cross_attention_dim: 768 },
  "sd-turbo": {
    ...{ sample_size: 64, attention_head_dim: [5, 10, 20, 20], cross_attention_dim: 1024 },
    use_linear_projection: true,
  },
};

/** `text_encoder/config.json`. */
const TEXT_CONFIGS: Readonly<Record<RandomLayout, Record<string, unknown>>> = {
  sd15: { hidden_size: 768, intermediate_size: 3072, num_attention_heads: 12, num_hidden_layers: 12 },
  "sd-turbo": {
    ...{ hidden_size: 1024, intermediate_size: 4096, num_attention_heads: 16, num_hidden_layers: 23 },
    hidden_act: "gelu",
  },
};

/** `vae/config.json`. */
export const VAE_CONFIG: Readonly<Record<string, unknown>> = {
  block_out_channels: [128, 256, 512, 512],
  down_block_types: Array(4).fill("DownEncoderBlock2D"),
  layers_per_block: 2,
};

const SCHEDULER = { beta_start: 0.00085, beta_end: 0.012, beta_schedule: "scaled_linear" };

/** The sequence of a half of TAESD: runs of blocks with a change of size between two of them. Source: madebyollin/taesd@2a1b414. */
function tinyHalf(
  ends: readonly [cin: number, cout: number],
  runs: readonly number[],
  first: "encoder" | "decoder",
): TinyLayer[] {
  const width = 64;
  const layers: TinyLayer[] = [];
  let index = 0;
  const add = (kind: TinyLayer["kind"], cin: number, cout: number) => {
    const shape = { index: index++, cin, cout };
    layers.push(kind === "block" ? { kind, ...shape, memory: false } : { kind, ...shape });
  };
  add("conv", ends[0], width);
  // Behind a decoder's first layer stands its activation, and before each convolution the upsampling: both have no weights.
  if (first === "decoder") index++;
  for (const [run, count] of runs.entries()) {
    if (run > 0 && first === "encoder") add("resample", width, width);
    for (let i = 0; i < count; i++) add("block", width, width);
    if (run < runs.length - 1 && first === "decoder") {
      index++;
      add("resample", width, width);
    }
  }
  add("conv", width, ends[1]);
  return layers;
}

/** Returns a model of a published layout whose weights are random and made as they are needed: for measurements without files. */
export function randomDiffusionModel(layout: RandomLayout, seed: number): DiffusionModel {
  requireArgument("randomDiffusionModel layout", layout, LAYOUT);
  const weights = randomWeights(seed);
  const unet = unet2dCondition(weights.at("unet"), parseUnet2dConditionConfig(UNET_CONFIGS[layout]));
  const half = (name: "encoder" | "decoder", layers: TinyLayer[]) => ({ weights: weights.at(name), layers });
  const codec =
    layout === "sd15"
      ? fullCodec(runAtOnce(pictureVae.inPieces(weights.at("vae"), parsePictureVaeConfig(VAE_CONFIG))))
      : tinyCodec(
          half("encoder", tinyHalf([3, 4], [1, 3, 3, 3], "encoder")),
          half("decoder", tinyHalf([4, 3], [3, 3, 3, 1], "decoder")),
        );
  const text = clipText(weights.at("text"), parseClipTextConfig(TEXT_CONFIGS[layout]));
  const info = pictureInfo(`random ${layout}`, unet.config.sampleSize, codec.factor);
  const scheduler = { _class_name: layout === "sd15" ? "LCMScheduler" : "EulerDiscreteScheduler", ...SCHEDULER };
  return { info, unet, codec, text, tokenizer: undefined, scheduler };
}

/** Records one call of a random network: pictures of side×side latents, each with a timestep and a text of its own. With `isConditioned`
 *  what follows from those is an input, as in streams, where it is computed when they are set. */
export function* recordRandomNetwork(
  g: Graph,
  layout: RandomLayout,
  options: { seed: number; pictures: number; side: number; isConditioned?: boolean },
): Pausable<void> {
  requireArgument("recordRandomNetwork g", g, GRAPH);
  requireArgument("recordRandomNetwork layout", layout, LAYOUT);
  requireFields("recordRandomNetwork", options, { pictures: COUNT, side: COUNT });
  const { seed, pictures, side, isConditioned = false } = options;
  const config = parseUnet2dConditionConfig(UNET_CONFIGS[layout]);
  const unet = yield* unet2dCondition.inPieces(randomWeights(seed), config);
  const length = parseClipTextConfig(TEXT_CONFIGS[layout]).maxTokens;
  const contextChannels = config.levels[0]!.crossAttentionDim;
  const place = (name: string, dims: number[]) => (isConditioned ? g.input(name, dims) : g.empty(dims));
  const text = place("text", [1, pictures, length, unet.widths.text]);
  const time = place("time", [1, pictures, 1, unet.widths.time]);
  if (!isConditioned) {
    yield* unet.conditionText.inPieces(g, g.input("states", [1, pictures, length, contextChannels]), text);
    yield* unet.conditionTime.inPieces(g, { timestep: g.input("timestep", [1, pictures], "f32") }, time);
  }
  const sample = g.input("sample", [1, pictures, side, side, config.inChannels]);
  g.output("prediction", yield* unet.forward.inPieces(g, { sample, time, text }));
}
