import {
  type FloatImage,
  fitFloats,
  fitPicture,
  loadImage,
  type PictureSource,
  parseFocus,
  type RgbImage,
} from "@vd/media";
import { type Pausable, runInSlices } from "@vd/tensor";
import { posteriorMode } from "@vd/vae-opt";
import { clipPixelValues } from "../conditioning/clip-pixel-values";
import { checkFloatImage, isFloatImage } from "../conditioning/float-image";
import { sizedPicture, vaeInput, vaeInputFromTensor } from "../conditioning/vae-input";
import { embedImageStage, encodeImageStage } from "../stages/definitions";
import type { Precision } from "../types";
import { computeConditions } from "./conditions";
import { denoisingDevice, type GenerationContext, type GenerationRun } from "./context";
import { loadAhead } from "./load-ahead";
import { roundedTo } from "./rounding";

/** What the models make of the picture. */
export interface EncodedPicture {
  /** CLIP's, [D]. */
  embedding: Float32Array;
  /** The VAE's, not scaled, [h,w,C]. */
  latents: Float32Array;
}

/** A picture's pixels. */
export type Picture = RgbImage | FloatImage;

/**
 * Returns the pixels of a picture, by default the one that the video begins with, in the frames' shape; a generation reads each once.
 *
 * @throws VdError as `loadImage` and `fitPicture`, `shape` or `attr` for floats that do not fit
 */
export function loadFittedPicture(
  context: GenerationContext,
  image: PictureSource | FloatImage = context.options.image,
): Promise<Picture> {
  const { pictures } = context;
  const picture = pictures?.get(image) ?? readFittedPicture(context, image);
  pictures?.set(image, picture);
  return picture;
}

async function readFittedPicture(
  { checked, options }: GenerationContext,
  image: PictureSource | FloatImage,
): Promise<Picture> {
  const { width, height, fit } = checked;
  const fitting = { fit, focus: parseFocus(checked.focus) };
  if (isFloatImage(image)) {
    checkFloatImage(image);
    return fitFloats(image, width, height, fitting);
  }
  const work = { signal: options.signal, where: "generation" };
  return fitPicture(await loadImage(image, { width, height }), width, height, { ...fitting, ...work });
}

/** Encodes the picture by CLIP and the VAE: beside each other where the generation overlaps its work or has several devices, else the VAE
 *  first. */
export async function encodePicture(run: GenerationRun, image: Picture): Promise<EncodedPicture> {
  const { progress } = run;
  let done = 0;
  const counted = async <T>(name: string, body: () => Promise<T>) => {
    const result = await progress.timed(name, body);
    progress.report("encode", ++done, 2);
    return result;
  };
  const { overlap, team, options } = run.context;
  const encode = (loading?: Promise<void>) => counted("encode", () => encodeByVae(run, image, loading));
  const embed = (steps: EmbeddingSteps) => counted("embed", () => embedByClip(run, image, steps));
  if (!overlap && (!team || options.profiler)) return { latents: await encode(), embedding: await embed({}) };
  const loading = overlap ? (run.loadingAhead ?? loadAhead(run)) : Promise.resolve();
  // CLIP comes first: a GPU embeds a picture in the time that the noise for the autoencoder takes to draw.
  const onEmbedding = (embedding: Float32Array) => conditionsAhead(run, embedding);
  const embedding = embed({ loading, onEmbedding });
  const encoding = encode(loading);
  // All of them have ended before an error leaves: what they write to are the next generation's arrays.
  await Promise.allSettled([loading, encoding, embedding]);
  await loading;
  return { latents: await encoding, embedding: await embedding };
}

/** Begins to compute what the denoiser is told of an embedding, while the autoencoder still encodes. */
function conditionsAhead(run: GenerationRun, embedding: Float32Array): void {
  const { context } = run;
  const { overlap, team, denoiser, shape } = context;
  // Clips have pictures of their own, and on several devices the autoencoder's and the denoiser's may be one.
  if (!overlap || team || denoiser?.kind === "elsewhere" || shape.clipFrames !== undefined) return;
  const computed = computeConditions(run, embedding, denoisingDevice(context));
  computed.catch(() => undefined);
  run.conditionsAhead?.set(embedding, computed);
}

/** What the embedding of a picture waits for, and whom it tells. */
interface EmbeddingSteps {
  /** Settles when stages are being loaded ahead. */
  loading?: Promise<void> | undefined;
  /** Called with the embedding before what computed it is freed. */
  onEmbedding?: ((embedding: Float32Array) => void) | undefined;
}

/** Returns CLIP's embedding of a picture, [D]. */
export async function embedByClip(
  { context, progress, loader, loaders }: GenerationRun,
  image: Picture,
  { loading, onEmbedding }: EmbeddingSteps = {},
): Promise<Float32Array> {
  const { models, components, shape, options } = context;
  const { signal } = options;
  const work = { signal, where: "generation" };
  const pixels = await progress.scope("preprocess", () => clipPixelValues(image, components.clipPixels, work));
  await loading;
  const stage = embedImageStage(models, components.clipPixels.size, shape.dtype);
  // The first device has the autoencoder meanwhile.
  return (loaders[1] ?? loader).run(stage, async (plan) => {
    await plan.write("pixels", pixels);
    await plan.run({ signal });
    const embedding = await plan.read("embedding");
    onEmbedding?.(embedding);
    return embedding;
  });
}

/** The posterior's mode, rounded as the reference's latents are. */
function* roundedMode(moments: Float32Array, channels: number, precision: Precision): Pausable<Float32Array> {
  return yield* roundedTo.inPieces(precision, yield* posteriorMode.inPieces(moments, channels));
}

/** Pixels as the VAE takes them, [1,3,H,W]. */
function pixelsForVae({ context, progress }: GenerationRun, image: Picture): Promise<Float32Array> {
  const { shape, scratch, options } = context;
  const { width, height } = shape;
  const into = scratch.floats("picture", 3 * width * height);
  const work = { signal: options.signal, where: "generation" };
  return progress.scope("preprocess", () =>
    isFloatImage(image)
      ? runInSlices(vaeInputFromTensor.inPieces({ channels: 3, ...image }, width, height, into), work)
      : vaeInput(image, width, height, { into, ...work }),
  );
}

/** The posterior's mode of pixels [1,3,H,W], not scaled, [h,w,C]. */
function latentsOfPixels({ context, loader }: GenerationRun, pixels: Float32Array): Promise<Float32Array> {
  const { models, shape, precision, options } = context;
  const slices = { signal: options.signal, where: "generation" };
  return loader.run(encodeImageStage(models, shape), async (plan) => {
    await plan.write("image", pixels);
    await plan.run({ signal: slices.signal });
    return runInSlices(roundedMode(await plan.read("moments"), models.vae.config.latentChannels, precision), slices);
  });
}

/** Pixels with a little noise on them as the VAE takes them, [1,3,H,W]. */
async function noisyPixels(run: GenerationRun, image: Picture): Promise<Float32Array> {
  const { context, progress, noise } = run;
  const { shape, options } = context;
  if (isFloatImage(image) || !noise.isPictureDrawn) {
    return noise.onPicture(await pixelsForVae(run, image));
  }
  const work = { signal: options.signal, where: "generation" };
  const sized = await progress.scope("preprocess", () => sizedPicture(image, shape.width, shape.height, work));
  return noise.underPicture(sized);
}

/** Latents of the picture with a little noise on it: the posterior's mode, not scaled, [h,w,C]. loading: settles when stages are being loaded
 *  ahead. */
async function encodeByVae(run: GenerationRun, image: Picture, loading?: Promise<void>): Promise<Float32Array> {
  const noisy = await noisyPixels(run, image);
  // The next numbers in the reference's order, drawn while the GPU encodes.
  if (run.context.overlap) run.noise.drawFirstAhead();
  await loading;
  return latentsOfPixels(run, noisy);
}

/** Returns the latents of a picture without noise: the posterior's mode, not scaled, [h,w,C]. */
export async function encodeClean(run: GenerationRun, image: Picture): Promise<Float32Array> {
  return latentsOfPixels(run, await pixelsForVae(run, image));
}
