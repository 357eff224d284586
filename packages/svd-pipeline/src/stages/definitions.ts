import {
  COUNT,
  countOf,
  type DType,
  FUNCTION,
  OBJECT,
  oneOfThese,
  requireArgument,
  requireFields,
} from "@vd/kernels-native";
import type { DataBounds } from "@vd/sampling";
import {
  clipRange,
  frameRange,
  type Graph,
  type Pausable,
  PhiloxGenerator,
  type SamplerStepOptions,
  type Tensor,
} from "@vd/tensor";
import { type DecodeShape, rewriteOf, type TileChoice, decodeStage as vaeDecodeStage } from "@vd/vae-opt";
import { type DeepFeatures, foldedCross } from "../models/index";
import type { Models } from "../opening/models";
import { type ConvolutionMethod, unetRewritings } from "../precision/convolutions";
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
  /** Whether the denoiser computes the rows one after the other, block by block, which takes less memory; default together. */
  rowsApart?: boolean | undefined;
  /** Frames that are denoised at a time; undefined where that is all of them, in one clip with nothing known of it. */
  clipFrames?: number | undefined;
  /** Frames that are decoded, where those are not `numFrames`. */
  decodedFrames?: number | undefined;
  decodeChunk: number | undefined;
  /** How the whole clip is decoded in tiles, where nothing else fits. */
  decodeTiles?: TileChoice | undefined;
  /** Element type of activations; default f32. */
  dtype?: DType | undefined;
  /** In what the decoder computes convolutions; default: in the type of activations. */
  decoder?: "fp8" | undefined;
  /** How 3x3 convolutions are computed; default direct. */
  convolutions?: ConvolutionMethod | undefined;
  /** Whether the decoder's convolutions normalise channel groups by themselves; default false. */
  fusedNorm?: boolean | undefined;
  /** Bytes that the decoder's layers of single frames had better work in at a time; default: no limit. */
  spatialBytes?: number | undefined;
  /** Whether the denoiser's linear layers normalise tokens by themselves where that gains; default false. */
  fusedLayerNorm?: boolean | undefined;
}

const SHAPE = { numFrames: COUNT, width: COUNT, height: COUNT, factor: COUNT, rows: oneOfThese([1, 2]) };

/** Refuses what is no shape of a stage. @throws VdError `attr` */
export const requireShape = (where: string, shape: unknown): void => requireFields(where, shape, SHAPE);

/** Returns the shape of what is denoised at a time. */
export const denoisedShape = (shape: StageShape): StageShape =>
  shape.clipFrames === undefined ? shape : { ...shape, numFrames: shape.clipFrames };

/** Returns the shape of what is decoded. */
export const decodedShape = (shape: StageShape): StageShape =>
  shape.decodedFrames === undefined ? shape : { ...shape, numFrames: shape.decodedFrames };

/** Planes in float32 as channels-last pixels of the graph's type; pauses. x: f32[1,F,C,H,W] → [1,F,H,W,C]. */
export function* planesIn(g: Graph, x: Tensor, options: { name?: string; scale?: number } = {}): Pausable<Tensor> {
  const [b, f, c, h, w] = x.dims as [number, number, number, number, number];
  const pixels = g.layoutIn({ ...options, x, out: g.empty([b, f, h, w, c]) });
  yield;
  return pixels;
}

/** Picture to embedding. `pixels` [1,1,3,S,S] → `embedding` [1,1,1,D]. */
export function embedImageStage(models: Models, size: number, dtype: DType = "f32"): StageDefinition {
  requireFields("embedImageStage models", models, { imageEncoder: FUNCTION });
  requireArgument("embedImageStage size", size, COUNT);
  return {
    name: "embed image",
    dtype,
    *build(g) {
      const planes = g.input("pixels", [1, 1, 3, size, size], "f32");
      const { imageEmbeds } = yield* models.imageEncoder.inPieces(g, yield* planesIn(g, planes));
      g.output("embedding", imageEmbeds);
    },
  };
}

/** Picture to latents. `image` [1,1,3,H,W] in about [-1,1] → `moments` [1,1,h,w,2·C]. Half-precision models that say so
 *  encode in float32. */
export function encodeImageStage(models: Models, shape: StageShape): StageDefinition {
  requireFields("encodeImageStage models", models, { vae: OBJECT });
  requireShape("encodeImageStage shape", shape);
  const { width, height, dtype } = shape;
  return {
    name: "encode image",
    dtype: models.vae.config.forceUpcast ? "f32" : dtype,
    *build(g) {
      const planes = g.input("image", [1, 1, models.vae.config.inChannels, height, width], "f32");
      g.output("moments", yield* models.vae.encode.inPieces(g, yield* planesIn(g, planes)));
    },
  };
}

/** What all denoising steps share. `context` [B,1,1,D] → `cross` [B,1,1,·], `frames` [1,F,1,·]. */
export function conditionStage(models: Models, shape: StageShape): StageDefinition {
  requireFields("conditionStage models", models, { unet: OBJECT });
  requireShape("conditionStage shape", shape);
  const { rows, numFrames, dtype } = shape;
  const { unet } = models;
  return {
    name: "condition",
    dtype,
    *build(g) {
      const context = g.input("context", [rows, 1, 1, unet.config.crossAttentionDim[0]!]);
      const cross = g.empty([rows, 1, 1, Math.max(unet.crossWidth, 1)]);
      const frames = g.empty([1, numFrames, 1, Math.max(unet.framesWidth, 1)]);
      yield* unet.condition.inPieces(g, context, cross, frames);
      g.output("cross", cross);
      g.output("frames", frames);
    },
  };
}

/** The latents' own sizes, [h,w,C]. */
export function latentSizes({ vae }: Models, { width, height, factor }: StageShape): [number, number, number] {
  return [height / factor, width / factor, vae.config.latentChannels];
}

/** What the denoiser reads: latents times `inputScale` [1], an input of the graph by default, beside its input `image` [1,1,h,w,C], the picture's
 *  latents. latents: [1,F,h,w,C] → [B,F,h,w,2·C]. */
export function denoiserInput(
  g: Graph,
  models: Models,
  shape: StageShape,
  latents: Tensor,
  inputScale = g.input("inputScale", [1], "f32"),
): Tensor {
  const image = g.input("image", [1, 1, ...latentSizes(models, shape)]);
  const out = g.empty(denoiserInputDims(models, shape));
  return g.denoiseInput({ name: "denoise_input", latents, image, inputScale, rows: shape.rows, out });
}

/** Returns [B,F,h,w,2·C]: channels of the latents, then of the picture's. */
export function denoiserInputDims(models: Models, shape: StageShape): number[] {
  const [height, width, channels] = latentSizes(models, shape);
  return [shape.rows, shape.numFrames, height, width, 2 * channels];
}

/** Records the denoiser at the graph's inputs `timestep` [1,1], `addedTimeIds` [B,3], `cross` and `frames`. sample: [B,F,h,w,2·C] →
 *  [B,F,h,w,C]. deep: features that are kept for other calls, or kept ones. */
export function predict(
  g: Graph,
  { unet }: Models,
  { rows, rowsApart, numFrames, ...recording }: StageShape,
  sample: Tensor,
  deep?: DeepFeatures,
): Pausable<Tensor> {
  for (const rewriting of unetRewritings(recording)) g.rewriteCalls(rewriting);
  const cross = g.input("cross", [rows, 1, 1, Math.max(unet.crossWidth, 1)]);
  const frames = g.input("frames", [1, numFrames, 1, Math.max(unet.framesWidth, 1)]);
  const timestep = g.input("timestep", [1, 1], "f32");
  const addedTimeIds = g.input("addedTimeIds", [rows, 3], "f32");
  const forward = (begin: number, end: number, out?: Tensor) => {
    const [some, ids, vectors] = [sample, addedTimeIds, cross].map((t) => clipRange(t, begin, end)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const conditioning = { cross: foldedCross(vectors), frames };
    const features = deep && { ...deep, features: clipRange(deep.features, begin, end) };
    return unet.forward.inPieces(g, { sample: some, timestep, addedTimeIds: ids, conditioning, deep: features, out });
  };
  return rowsApart && rows === 2 ? rowByRow(g, unet, sample, forward) : forward(0, rows);
}

/** Records both rows of a prediction, each up to its next pause in turn, so that both read a block's weights one soon after the other. */
function* rowByRow(
  g: Graph,
  { config }: Models["unet"],
  sample: Tensor,
  forward: (begin: number, end: number, out: Tensor) => Pausable<Tensor>,
): Pausable<Tensor> {
  const both = g.empty([...sample.dims.slice(0, 4), config.outChannels]);
  const rows = [0, 1].map((row) => forward(row, row + 1, clipRange(both, row, row + 1)));
  for (let isDone = false; !isDone; ) {
    for (const row of rows) isDone = row.next().done === true;
    yield;
  }
  return both;
}

/** One denoiser call, for samplers that step on the host. `latents` [1,F,C,h,w], with guidance `guidance` [F], and what
 *  `denoiserInput` and `predict` read → `prediction` [1,F,C,h,w]. */
export function denoiseStage(models: Models, shape: StageShape): StageDefinition {
  requireFields("denoiseStage models", models, { unet: OBJECT, vae: OBJECT });
  requireShape("denoiseStage shape", shape);
  const { numFrames } = shape;
  const [height, width, channels] = latentSizes(models, shape);
  return {
    name: "denoise",
    key: `denoise on the host's steps ${shape.rowsApart}`,
    dtype: shape.dtype,
    *build(g) {
      const planes = g.input("latents", [1, numFrames, channels, height, width], "f32");
      const latents = yield* planesIn(g, planes, { name: "latents" });
      const y = yield* predict(g, models, shape, denoiserInput(g, models, shape, latents));
      predictionOut(g, y, numFrames);
    },
  };
}

/** Adds guidance to what the denoiser predicts for rows and makes it an output. y: [B,F,h,w,C], with two rows `guidance` [F] → `prediction` [1,F,C,h,w]. */
export function predictionOut(g: Graph, y: Tensor, numFrames: number): void {
  const isGuided = y.dims[0] === 2;
  const guided = isGuided ? g.guide({ name: "guide", x: y, scale: g.input("guidance", [numFrames], "f32") }) : y;
  const [b, f, h, w, c] = guided.dims as [number, number, number, number, number];
  g.output("prediction", g.layoutOut({ name: "prediction", x: guided, out: g.empty([b, f, c, h, w], "f32") }));
}

/** What `sampleStage` starts from. `latents` [1,F,C,h,w] and what `denoiserInput` reads → `x` [1,F,h,w,C], `input` [B,F,h,w,2·C]. */
export function startStage(models: Models, shape: StageShape): StageDefinition {
  const [height, width, channels] = latentSizes(models, shape);
  return {
    name: "start",
    dtype: shape.dtype,
    *build(g) {
      const planes = g.input("latents", [1, shape.numFrames, channels, height, width], "f32");
      const x = g.empty([1, shape.numFrames, height, width, channels], "f32");
      g.layoutIn({ name: "latents", x: planes, out: x });
      yield;
      g.output("x", x);
      g.output("input", denoiserInput(g, models, shape, x));
    },
  };
}

/** What a sampler that steps on the device needs. */
export interface StepNeeds {
  /** Tensors that it remembers. */
  numHistory: number;
  /** Some of its steps add noise. */
  drawsNoise: boolean;
  /** The step draws that noise itself, as torch's CUDA generator does. */
  drawsOnDevice?: boolean | undefined;
  /** How it bounds its data prediction. */
  bounds?: DataBounds | undefined;
}

/** The attributes of sampler_step for a sampler's bounds. */
export function boundsAttributes(
  bounds: DataBounds | undefined,
): Pick<SamplerStepOptions, "bounds" | "clipRange" | "quantile" | "maxValue"> {
  if (bounds === undefined) return {};
  if (bounds.kind === "clip") return { bounds: "clip", clipRange: bounds.range };
  return { bounds: "threshold", quantile: bounds.quantile, maxValue: bounds.maxValue };
}

/** One denoiser call and the sampler's step after it, which leaves the input of the next call. States `x` [1,F,h,w,C], `input`
 *  [B,F,h,w,2·C] and `history`; `coefficients` [2+H+D,3+H+D] (see op sampler_step; D is 1 with bounds), `image` [1,1,h,w,C], `inputScale` [1] of the next
 *  call, with guidance `guidance` [F], where needed `noise` [1,F,h,w,C] or `philox` [4], and what `predict` reads → `denoised` [1,F,h,w,C],
 *  `firstFrame` of x. */
export function sampleStage(
  models: Models,
  shape: StageShape,
  { numHistory, drawsNoise, drawsOnDevice, bounds }: StepNeeds,
): StageDefinition {
  const numData = bounds ? 1 : 0;
  const latents = latentSizes(models, shape);
  const size = [shape.numFrames, ...latents];
  return {
    name: "denoise",
    key: `denoise ${numHistory} ${drawsNoise} ${drawsOnDevice} ${JSON.stringify(bounds)} ${shape.rowsApart}`,
    dtype: shape.dtype,
    *build(g) {
      const x = g.state("x", [1, ...size], "f32");
      const input = g.state("input", denoiserInputDims(models, shape));
      const prediction = yield* predict(g, models, shape, input);
      const history = numHistory > 0 ? g.state("history", [numHistory, ...size], "f32") : undefined;
      const denoised = g.empty([1, ...size], "f32");
      g.samplerStep({
        ...{ name: "sampler_step", prediction, x, history, numHistory, ...boundsAttributes(bounds) },
        coefficients: g.input("coefficients", [2 + numHistory + numData, 3 + numHistory + numData], "f32"),
        guidance: shape.rows === 2 ? g.input("guidance", [shape.numFrames], "f32") : undefined,
        noise: drawsNoise && !drawsOnDevice ? g.input("noise", [1, ...size], "f32") : undefined,
        ...(drawsNoise && drawsOnDevice
          ? { philox: g.input("philox", [4], "i32"), lanes: new PhiloxGenerator(0).lanes(countOf(size)) }
          : {}),
        image: g.input("image", [1, 1, ...latents]),
        inputScale: g.input("inputScale", [1], "f32"),
        out: x,
        outputs: { denoised, input, ...(history ? { nextHistory: history } : {}) },
      });
      g.output("denoised", denoised);
      g.output("firstFrame", frameRange(x, 0, 1));
    },
  };
}

/** What decides the shapes of decoding `numFrames` of a generation's frames. */
export function decodeShape(
  { width, height, factor, dtype = "f32", decoder, convolutions, fusedNorm = false, spatialBytes }: StageShape,
  numFrames: number,
): DecodeShape {
  const rewrite = rewriteOf({
    ...{ fusedSilu: true, fusedUpsample: true, fusedNorm },
    ...{ winograd: convolutions === "winograd", fp8: decoder === "fp8" },
  });
  return { numFrames, height: height / factor, width: width / factor, dtype, rewrite, spatialBytes, fusedNorm };
}

/** Latents to frames. `latents` [1,F,C,h,w] → `frames` [1,F,H,W,3] in about [-1,1], and `levels`, the same in 8 bits. */
export function decodeStage(models: Pick<Models, "vae">, shape: StageShape, numFrames?: number): StageDefinition {
  requireFields("decodeStage models", models, { vae: OBJECT });
  requireShape("decodeStage shape", shape);
  return vaeDecodeStage(models.vae, decodeShape(shape, numFrames ?? shape.numFrames), shape.decodeChunk);
}
