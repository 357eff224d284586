import { VdError } from "@vd/kernels-native";
import { type ClipVisionOutputs, foldedCross, tokenCross, type Unet } from "@vd/svd-pipeline";
import type { Graph, Module, Tensor } from "@vd/tensor";
import { reshape } from "@vd/tensor";
import { spatialFactor, type TemporalVae } from "@vd/vae-opt";
import type { ExportedGraph, PortShape } from "./export-graph";
import { chooseTraced, type FreeSize } from "./sizes";

/** The models of Stable Video Diffusion that can be exported. */
export const PARTS = ["unet", "vae-encoder", "vae-decoder", "clip"] as const;

/** One of {@link PARTS}. */
export type Part = (typeof PARTS)[number];

/** A size that may stay free: known when the model runs. */
export const FREE_SIZES = ["batch", "frames", "size"] as const;

/** One of {@link FREE_SIZES}; `size` is height and width. */
export type FreeSizeName = (typeof FREE_SIZES)[number];

/** Sizes of an exported model. */
export interface PartShape {
  /** Clips of a call: two with guidance. */
  readonly batch: number;
  readonly frames: number;
  /** Pixels of the video. */
  readonly width: number;
  readonly height: number;
  readonly free: readonly FreeSizeName[];
}

/** What is recorded for a part, before the element type is chosen. */
export type PartGraph = Omit<ExportedGraph, "type" | "onRow">;

interface TracedSizes {
  readonly batch: number;
  readonly frames: number;
  readonly height: number;
  readonly width: number;
  readonly free: readonly FreeSize[];
}

/** Where a part's input has its sizes, and what they must be multiples of. */
interface SizeAxes {
  readonly input: string;
  readonly batchAxis: number;
  readonly framesAxis?: number;
  readonly heightAxis?: number;
  readonly multiple: number;
}

/** The sizes to record with: the wanted ones, or stand-ins for those that stay free. */
function traceSizes(
  shape: Pick<PartShape, "batch" | "frames" | "free">,
  height: number,
  width: number,
  axes: SizeAxes,
): TracedSizes {
  const { input, batchAxis, framesAxis, heightAxis, multiple } = axes;
  const isFree = (name: FreeSizeName) => shape.free.includes(name);
  const wanted: Parameters<typeof chooseTraced>[0][number][] = [];
  if (isFree("batch")) wanted.push({ name: "batch", input, axis: batchAxis, multiple: 1 });
  if (isFree("frames") && framesAxis !== undefined)
    wanted.push({ name: "frames", input, axis: framesAxis, multiple: 1 });
  if (isFree("size") && heightAxis !== undefined)
    wanted.push(
      { name: "height", input, axis: heightAxis, multiple },
      { name: "width", input, axis: heightAxis + 1, multiple },
    );
  const given = { batch: shape.batch, frames: shape.frames, height, width };
  const fixed = Object.entries(given).filter(([name]) => wanted.every((each) => each.name !== name));
  const free = chooseTraced(
    wanted,
    fixed.map(([, size]) => size),
  );
  return { ...given, ...Object.fromEntries(free.map(({ name, traced }) => [name, traced])), free };
}

/** Sizes of the denoiser's call that the part's shape does not say. */
export interface UnetExport {
  /** By how much the autoencoder shrinks a side. */
  readonly factor: number;
  /** Tokens of the picture's embedding; default 1, which lets cross-attention fold into biases. */
  readonly contextTokens?: number;
}

/** One denoiser call with the signature of diffusers' model. `sample` [B,F,C,h,w], `timestep` [1],
 *  `encoder_hidden_states` [B,L,D], `added_time_ids` [B,3] → `out_sample` [B,F,K,h,w].
 *  Source: huggingface/diffusers@58eb52c unets/unet_spatio_temporal_condition.py forward. */
export function unetGraph(unet: Unet, shape: PartShape, { factor, contextTokens = 1 }: UnetExport): PartGraph {
  const { config } = unet;
  const axes = {
    input: "sample",
    batchAxis: 0,
    framesAxis: 1,
    heightAxis: 3,
    multiple: 2 ** (config.blockOutChannels.length - 1),
  };
  const traced = traceSizes(shape, shape.height / factor, shape.width / factor, axes);
  const { batch, frames, height, width, free } = traced;
  const contextDim = config.crossAttentionDim[0]!;
  const numIds = config.additionEmbedInput / config.additionTimeEmbedDim;
  return {
    free,
    wide: ["timestep", "added_time_ids"],
    ports: { timestep: [1], encoder_hidden_states: [batch, contextTokens, contextDim] },
    build: (g) => {
      const planes = g.input("sample", [batch, frames, config.inChannels, height, width]);
      const timestep = g.input("timestep", [1, 1]);
      const context = g.input("encoder_hidden_states", [batch, 1, contextTokens, contextDim]);
      const addedTimeIds = g.input("added_time_ids", [batch, numIds]);
      const framesOut = g.empty([1, frames, 1, Math.max(unet.framesWidth, 1)]);
      const cross = conditioned(g, unet, context, framesOut);
      const inputs = { sample: g.layoutIn({ name: "sample", x: planes }), timestep, addedTimeIds };
      const y = unet.forward(g, { ...inputs, conditioning: { cross, frames: framesOut } });
      g.output("out_sample", g.layoutOut({ name: "out_sample", x: y }));
    },
  };
}

/** What the blocks take from the picture's embedding: a vector each for one token, else the tokens themselves. */
function conditioned(g: Graph, unet: Unet, context: Tensor, framesOut: Tensor) {
  if (context.dims[2] !== 1) {
    unet.conditionFrames(g, framesOut);
    return tokenCross(context);
  }
  const vectors = g.empty([context.dims[0]!, 1, 1, Math.max(unet.crossWidth, 1)]);
  unet.condition(g, context, vectors, framesOut);
  return foldedCross(vectors);
}

/** Pictures to moments. `image` [B,3,H,W] → `moments` [B,2C,h,w]: means, then log-variances. */
export function vaeEncoderGraph(vae: TemporalVae, shape: PartShape): PartGraph {
  const factor = spatialFactor(vae.config);
  const axes = { input: "image", batchAxis: 0, heightAxis: 2, multiple: factor };
  const { batch, height, width, free } = traceSizes({ ...shape, frames: 1 }, shape.height, shape.width, axes);
  const channels = vae.config.inChannels;
  const moments: PortShape = [batch, 2 * vae.config.latentChannels, height / factor, width / factor];
  return {
    free,
    ports: { image: [batch, channels, height, width], moments },
    build: (g) => {
      const x = g.layoutIn({ name: "image", x: g.input("image", [batch, 1, channels, height, width]) });
      g.output("moments", g.layoutOut({ name: "moments", x: vae.encode(g, x) }));
    },
  };
}

/** Latents, divided by the scaling factor, to frames in about [-1,1]. `latents` [B,F,C,h,w] → `frames` [B,F,3,H,W]. */
export function vaeDecoderGraph(vae: TemporalVae, shape: PartShape): PartGraph {
  const factor = spatialFactor(vae.config);
  const axes = { input: "latents", batchAxis: 0, framesAxis: 1, heightAxis: 3, multiple: 1 };
  const sizes = traceSizes(shape, shape.height / factor, shape.width / factor, axes);
  const { batch, frames, height, width, free } = sizes;
  return {
    free,
    build: (g) => {
      const planes = g.input("latents", [batch, frames, vae.config.latentChannels, height, width]);
      const y = vae.decode(g, g.layoutIn({ name: "latents", x: planes }));
      g.output("frames", g.layoutOut({ name: "frames", x: y }));
    },
  };
}

/** Normalised pictures to embeddings. `pixel_values` [B,3,S,S] → `image_embeds` [B,D]. */
export function clipGraph(
  encoder: Module<[x: Tensor], ClipVisionOutputs>,
  shape: Pick<PartShape, "batch" | "free">,
  { size, channels, width }: { size: number; channels: number; width: number },
): PartGraph {
  const free = shape.free.filter((name) => name === "batch");
  const axes = { input: "pixel_values", batchAxis: 0, multiple: 1 };
  const traced = traceSizes({ batch: shape.batch, frames: 1, free }, size, size, axes);
  const { batch } = traced;
  return {
    free: traced.free,
    ports: { pixel_values: [batch, channels, size, size], image_embeds: [batch, width] },
    build: (g) => {
      const x = g.layoutIn({ name: "pixel_values", x: g.input("pixel_values", [batch, 1, channels, size, size]) });
      g.output("image_embeds", reshape(encoder(g, x).imageEmbeds, [batch, 1, 1, width]));
    },
  };
}

/**
 * multiple: of width and height in pixels.
 *
 * @throws VdError `attr` for sizes that a part cannot have
 */
export function checkShape({ batch, frames, width, height, free }: PartShape, multiple: number): void {
  const whole = (where: string, value: number, of: number) => {
    if (Number.isInteger(value) && value >= 1 && value % of === 0) return;
    const expected = of === 1 ? "a whole number from 1" : `a multiple of ${of}`;
    throw new VdError({ code: "attr", where, expected, got: String(value) });
  };
  whole("batch", batch, 1);
  whole("frames", frames, 1);
  whole("width", width, multiple);
  whole("height", height, multiple);
  for (const name of free)
    if (!FREE_SIZES.includes(name))
      throw new VdError({
        code: "attr",
        where: "dynamic",
        expected: `one of ${FREE_SIZES.join(", ")}`,
        got: String(name),
      });
}
