import type { Device, DType } from "@vd/kernels-native";
import {
  type ConvolutionMethod,
  conditionStage,
  decodeStage,
  embedImageStage,
  encodeImageStage,
  foldedCross,
  type ModelComponents,
  type Models,
  type StageDefinition,
  type StageShape,
  unetRewritings,
} from "@vd/svd-pipeline";
import { type Graph, type GraphLayout, layoutGraph, Plan, type RewriteCall } from "@vd/tensor";
import { spatialBytesOf, spatialFactor } from "@vd/vae-opt";
import { type InputSizes, type PartInputs, plainInputs, unetInputs } from "./inputs";
import type { MeasureOptions, Part } from "./options";

/** A part that is one plan. */
export type PlanPart = Exclude<Part, "start" | "e2e">;

/** One plan of ours, ready to be loaded and filled. */
export interface OurPart {
  part: PlanPart;
  layout: GraphLayout;
  /** What the peer gets. */
  inputs: PartInputs;
  /** Writes the inputs. */
  fill(plan: Plan): void;
  /** The result in the peer's layout. */
  read(plan: Plan): Promise<Float32Array>;
}

/** What parts are made from. */
export interface PartContext {
  device: Device;
  models: Models;
  components: ModelComponents;
  options: MeasureOptions;
  dtype: DType;
  /** How the decoder computes convolutions; default: in `dtype`. */
  decoder?: "fp8" | undefined;
  /** How 3x3 convolutions are computed. */
  convolutions: ConvolutionMethod;
  /** Whether the decoder's convolutions normalise channel groups by themselves. */
  fusedNorm: boolean;
  /** Whether the denoiser's linear layers normalise tokens by themselves. */
  fusedLayerNorm: boolean;
}

/** The shapes of all stages of a measured run. */
export function stageShapeOf({ models, options, device, ...recording }: PartContext): StageShape {
  const { dtype, decoder, convolutions, fusedNorm, fusedLayerNorm } = recording;
  const { numFrames, width, height } = options;
  const factor = spatialFactor(models.vae.config);
  return {
    numFrames,
    width,
    height,
    factor,
    rows: 2,
    decodeChunk: undefined,
    dtype,
    decoder,
    convolutions,
    fusedNorm,
    fusedLayerNorm,
    spatialBytes: spatialBytesOf(device),
  };
}

function sizesOf({ models, components, options }: PartContext): InputSizes {
  const factor = spatialFactor(models.vae.config);
  return {
    numFrames: options.numFrames,
    width: options.width,
    height: options.height,
    latentWidth: options.width / factor,
    latentHeight: options.height / factor,
    latentChannels: models.vae.config.latentChannels,
    contextWidth: models.unet.config.crossAttentionDim[0]!,
    clipSize: components.clipPixels.size,
  };
}

/** Channels-last pixels as planes: [n,pixels,C] → [n,C,pixels]. */
export function toPlanes(values: Float32Array, numPixels: number, channels: number): Float32Array {
  const planes = new Float32Array(values.length);
  const size = numPixels * channels;
  for (let start = 0; start < values.length; start += size)
    for (let c = 0; c < channels; c++) {
      const plane = start + c * numPixels;
      for (let p = 0; p < numPixels; p++) planes[plane + p] = values[start + p * channels + c]!;
    }
  return planes;
}

function layoutOf({ build, dtype = "f32" }: StageDefinition, rewrite?: RewriteCall): GraphLayout {
  const record = (g: Graph) => {
    if (rewrite) g.rewriteCalls(rewrite);
    return build(g);
  };
  return layoutGraph(record, { dtype });
}

/** Computes what all denoiser calls share. */
async function conditioning(context: PartContext, embedding: Float32Array) {
  const plan = await Plan.load(context.device, layoutOf(conditionStage(context.models, stageShapeOf(context))));
  try {
    const both = new Float32Array(2 * embedding.length); // The row without guidance stays zero.
    both.set(embedding, embedding.length);
    plan.writeSync("context", both);
    await plan.run();
    return { cross: plan.readSync("cross"), frames: plan.readSync("frames") };
  } finally {
    plan.freeSync();
  }
}

/** One call of the denoiser on both guidance rows, without the sampler around it, as the peer calls its own.
 *  `sample` [2,F,h,w,2C] → `prediction` [2,F,h,w,C]. */
function unetStage(context: PartContext, { numFrames, latentHeight, latentWidth, latentChannels }: InputSizes) {
  const { unet } = context.models;
  const rows = 2;
  return (g: Graph) => {
    for (const rewriting of unetRewritings(context)) g.rewriteCalls(rewriting);
    const sample = g.input("sample", [rows, numFrames, latentHeight, latentWidth, 2 * latentChannels]);
    const cross = foldedCross(g.input("cross", [rows, 1, 1, Math.max(unet.crossWidth, 1)]));
    const frames = g.input("frames", [1, numFrames, 1, Math.max(unet.framesWidth, 1)]);
    const timestep = g.input("timestep", [1, 1], "f32");
    const addedTimeIds = g.input("addedTimeIds", [rows, 3], "f32");
    g.output("prediction", unet.forward(g, { sample, timestep, addedTimeIds, conditioning: { cross, frames } }));
  };
}

async function unetPart(context: PartContext): Promise<OurPart> {
  const sizes = sizesOf(context);
  const { peer: inputs, context: embedding } = unetInputs(sizes, context.options.seed);
  const shared = await conditioning(context, embedding);
  const { latentChannels: channels, latentHeight, latentWidth } = sizes;
  const numPixels = latentHeight * latentWidth;
  return {
    part: "unet",
    inputs,
    layout: layoutGraph(unetStage(context, sizes), { dtype: context.dtype }),
    fill(plan) {
      plan.writeSync("sample", toChannelsLast(inputs.sample!.data, numPixels, 2 * channels));
      plan.writeSync("timestep", inputs.timestep!.data);
      plan.writeSync("addedTimeIds", inputs.added_time_ids!.data);
      plan.writeSync("cross", shared.cross);
      plan.writeSync("frames", shared.frames);
    },
    read: async (plan) => toPlanes(await plan.read("prediction"), numPixels, channels),
  };
}

/** Planes as channels-last pixels: [n,C,pixels] → [n,pixels,C]. */
export const toChannelsLast = (planes: Float32Array, numPixels: number, channels: number): Float32Array =>
  toPlanes(planes, channels, numPixels);

/** Plans a part with one plan and one input. rewrite: how calls are recorded; default: as the model makes them. */
export function plainPart(context: PartContext, part: Exclude<PlanPart, "unet">, rewrite?: RewriteCall): OurPart {
  const { models, components, options } = context;
  // A given way of recording calls is all that there is.
  const shape = stageShapeOf(rewrite ? { ...context, fusedNorm: false } : context);
  const sizes = sizesOf(context);
  const inputs = plainInputs(part, sizes, options.seed);
  const [name, input] = Object.entries(inputs)[0]!;
  const latentPixels = sizes.latentHeight * sizes.latentWidth;
  const kinds = {
    clip: {
      stage: () => embedImageStage(models, components.clipPixels.size, shape.dtype),
      read: (plan: Plan) => plan.read("embedding"),
    },
    encode: {
      stage: () => encodeImageStage(models, shape),
      read: async (plan: Plan) => toPlanes(await plan.read("moments"), latentPixels, 2 * sizes.latentChannels),
    },
    vae: {
      stage: () => decodeStage(models, shape),
      read: async (plan: Plan) => toPlanes(await plan.read("frames"), options.width * options.height, 3),
    },
  };
  const { stage, read } = kinds[part];
  return { part, inputs, layout: layoutOf(stage(), rewrite), fill: (plan) => plan.writeSync(name, input.data), read };
}

/**
 * Plans a part and makes its inputs.
 *
 * @throws VdError from the ops' checks or the device
 */
export function ourPart(context: PartContext, part: PlanPart): Promise<OurPart> {
  return part === "unet" ? unetPart(context) : Promise.resolve(plainPart(context, part));
}
