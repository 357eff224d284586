import { pixelsToPlanes } from "@vd/tensor";
import { type GenerationRun, latentDims } from "../context";
import { type EncodedPicture, embedByClip, encodeClean, loadFittedPicture } from "../encode-picture";
import type { GivenFrames } from "./denoise-clips";

/** Encodes the frames that the options give beside the picture. */
export async function givenFrames(run: GenerationRun, picture: EncodedPicture): Promise<GivenFrames> {
  const { options } = run.context;
  const { image, pastFrames = [], lastImage } = options;
  const past: Float32Array[] = [];
  for (const frame of pastFrames.length > 0 ? [...pastFrames, image] : [])
    past.push(scaledPlanes(run, await encodeClean(run, await loadFittedPicture(run.context, frame))));
  if (lastImage === undefined) return { picture, past };
  const pixels = await loadFittedPicture(run.context, lastImage);
  const latents = await encodeClean(run, pixels);
  const last = { picture: { embedding: await embedByClip(run, pixels), latents }, latents: scaledPlanes(run, latents) };
  return { picture, past, last };
}

/** The autoencoder's latents of a picture, [h,w,C], as those of a frame: times the scale, [C,h,w]. */
function scaledPlanes({ context }: GenerationRun, latents: Float32Array): Float32Array {
  const [, channels, height, width] = latentDims(context);
  const scale = context.models.vae.config.scalingFactor;
  const planes = pixelsToPlanes(latents, [1, channels, height, width], new Float32Array(latents.length));
  return planes.map((value) => value * scale);
}
