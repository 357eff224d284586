import type { DType } from "@vd/kernels-native";
import type { Graph, Tensor } from "@vd/tensor";
import type { Models } from "../model/models";
import { foldedCross } from "../models/index";
import type { StageDefinition } from "./stage";

/** Sizes that decide the shapes of all stages. */
export interface StageShape {
  numFrames: number;
  /** Pixels. */
  width: number;
  height: number;
  /** By how much the autoencoder shrinks a side. */
  factor: number;
  /** 2 with guidance: the unconditional row, then the conditional one. */
  rows: 1 | 2;
  decodeChunk: number | undefined;
  /** Element type of activations; default f32. */
  dtype?: DType | undefined;
}

/** Planes in float32 as channels-last pixels of the graph's type. x: f32[1,F,C,H,W] → [1,F,H,W,C]. */
function planesIn(g: Graph, x: Tensor, options: { name?: string; scale?: number } = {}): Tensor {
  const [b, f, c, h, w] = x.dims as [number, number, number, number, number];
  return g.layoutIn({ ...options, x, out: g.empty([b, f, h, w, c]) });
}

/** Picture to embedding. `pixels` [1,1,3,S,S] → `embedding` [1,1,1,D]. */
export function embedImageStage(models: Models, size: number, dtype: DType = "f32"): StageDefinition {
  return {
    name: "embed image",
    dtype,
    build: (g) => {
      const planes = g.input("pixels", [1, 1, 3, size, size], "f32");
      g.output("embedding", models.imageEncoder(g, planesIn(g, planes)).imageEmbeds);
    },
  };
}

/** Picture to latents. `image` [1,1,3,H,W] in about [-1,1] → `moments` [1,1,h,w,2·C]. Half-precision models that say so
 *  encode in float32. */
export function encodeImageStage(models: Models, { width, height, dtype }: StageShape): StageDefinition {
  return {
    name: "encode image",
    dtype: models.vae.config.forceUpcast ? "f32" : dtype,
    build: (g) => {
      const planes = g.input("image", [1, 1, models.vae.config.inChannels, height, width], "f32");
      g.output("moments", models.vae.encode(g, planesIn(g, planes)));
    },
  };
}

/** What all denoising steps share. `context` [B,1,1,D] → `cross` [B,1,1,·], `frames` [1,F,1,·]. */
export function conditionStage(models: Models, { rows, numFrames, dtype }: StageShape): StageDefinition {
  const { unet } = models;
  return {
    name: "condition",
    dtype,
    build: (g) => {
      const context = g.input("context", [rows, 1, 1, unet.config.crossAttentionDim[0]!]);
      const cross = g.empty([rows, 1, 1, Math.max(unet.crossWidth, 1)]);
      const frames = g.empty([1, numFrames, 1, Math.max(unet.framesWidth, 1)]);
      unet.condition(g, context, cross, frames);
      g.output("cross", cross);
      g.output("frames", frames);
    },
  };
}

/** One denoiser call. `latents` [1,F,C,h,w], `image` [1,1,h,w,C], `inputScale` [1], `timestep` [1,1],
 *  `addedTimeIds` [B,3], `cross`, `frames`, with guidance `guidance` [F] → `prediction` [1,F,C,h,w]. */
export function denoiseStage(models: Models, shape: StageShape): StageDefinition {
  const { unet, vae } = models;
  const { rows, numFrames, factor } = shape;
  const [height, width, channels] = [shape.height / factor, shape.width / factor, vae.config.latentChannels];
  return {
    name: "denoise",
    dtype: shape.dtype,
    build: (g) => {
      const planes = g.input("latents", [1, numFrames, channels, height, width], "f32");
      const latents = planesIn(g, planes, { name: "latents" });
      const image = g.input("image", [1, 1, height, width, channels]);
      const inputScale = g.input("inputScale", [1], "f32");
      const sample = g.denoiseInput({ name: "denoise_input", latents, image, inputScale, rows });
      const cross = foldedCross(g.input("cross", [rows, 1, 1, Math.max(unet.crossWidth, 1)]));
      const frames = g.input("frames", [1, numFrames, 1, Math.max(unet.framesWidth, 1)]);
      const timestep = g.input("timestep", [1, 1], "f32");
      const addedTimeIds = g.input("addedTimeIds", [rows, 3], "f32");
      const y = unet.forward(g, { sample, timestep, addedTimeIds, conditioning: { cross, frames } });
      const guided = rows === 2 ? g.guide({ name: "guide", x: y, scale: g.input("guidance", [numFrames], "f32") }) : y;
      const [b, f, h, w, c] = guided.dims as [number, number, number, number, number];
      g.output("prediction", g.layoutOut({ name: "prediction", x: guided, out: g.empty([b, f, c, h, w], "f32") }));
    },
  };
}

/** Latents to frames. `latents` [1,F,C,h,w] → `frames` [1,F,H,W,3] in about [-1,1]. */
export function decodeStage(models: Models, shape: StageShape, numFrames = shape.numFrames): StageDefinition {
  const { config, decode } = models.vae;
  const [height, width] = [shape.height / shape.factor, shape.width / shape.factor];
  return {
    name: "decode",
    key: `decode ${numFrames}`,
    dtype: shape.dtype,
    build: (g) => {
      const planes = g.input("latents", [1, numFrames, config.latentChannels, height, width], "f32");
      const z = planesIn(g, planes, { name: "latents", scale: Math.fround(1 / config.scalingFactor) });
      g.output("frames", decode(g, z, { chunkFrames: shape.decodeChunk }));
    },
  };
}
