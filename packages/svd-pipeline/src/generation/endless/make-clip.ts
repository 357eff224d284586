import { type GenerationRun, latentDims } from "../context";
import { decodeFrames } from "../decode-frames";
import { type EncodedPicture, encodePicture, type Picture } from "../encode-picture";
import { withClipModel } from "../steering/clip-models";
import { type ChannelColours, coloursOf, holdColours } from "../steering/hold-colours";
import { fadeFrame } from "../steering/join-clip";
import { denoiseOneClip, framesOf, joinFrames, pictureOfFrame } from "../steering/one-clip";
import type { Scene } from "./types";

/** What a clip begins with: a picture, or the scene that it goes on with. */
export type ClipBeginning = { picture: Picture } | { scene: Scene };

/** A finished clip, and what the next one goes on from. */
export interface MadeClip {
  /** The frames that it adds, [F,H,W,3] in 8 bits. */
  frames: Uint8Array;
  scene: Scene;
}

const packColours = (colours: readonly ChannelColours[]): Float32Array =>
  Float32Array.from(colours.flatMap(({ mean, deviation }) => [mean, deviation]));

const unpackColours = (packed: Float32Array): ChannelColours[] =>
  Array.from({ length: packed.length / 2 }, (_, i) => ({ mean: packed[2 * i]!, deviation: packed[2 * i + 1]! }));

/** Denoises the clip's frames. known: the first of them, clean. */
async function denoised(run: GenerationRun, picture: EncodedPicture, known: readonly Float32Array[]) {
  const { shape, sampling } = run.context;
  const latents = await run.noise.scaledFrames(shape.numFrames);
  const frames = Array.from({ length: shape.numFrames }, (_, i) => known[i]);
  const range = { before: 0, total: sampling.sampler.numSteps };
  return withClipModel(run, [picture.embedding], async (model) =>
    denoiseOneClip(run, {
      ...{ predict: await model.from(picture), features: model.features },
      ...{ known: frames, latents, leadsTo: false, range },
    }),
  );
}

/** Decodes a clip with the frames that it took over, so that the decoder sees what moves there. Returns the frames that it adds; what the
 *  decoder makes of the last frame before them differs a little from what was shown, which fades. */
async function decoded(run: GenerationRun, frames: readonly Float32Array[], scene: Scene | undefined, taken: number) {
  const { data } = await decodeFrames(run, joinFrames(frames));
  const length = data.length / frames.length;
  if (!scene) return data;
  const seen = data.subarray((taken - 1) * length, taken * length);
  const added = data.slice(taken * length);
  for (let place = 1; place <= frames.length - taken; place++) {
    const frame = added.subarray((place - 1) * length, place * length);
    fadeFrame({ frame, own: scene.last, seen, place }, frame);
  }
  return added;
}

/** Makes one clip. run: with the shape of a clip. */
export async function makeClip(run: GenerationRun, beginning: ClipBeginning): Promise<MadeClip> {
  const { context, progress } = run;
  const { overlap, holdColours: strength } = context.checked;
  const scene = "scene" in beginning ? beginning.scene : undefined;
  const known = scene ? framesOf(scene.known, overlap) : [];
  const picture =
    "scene" in beginning
      ? pictureOfFrame(context, known[0]!, beginning.scene.embedding)
      : await encodePicture(run, beginning.picture);
  const clean = await progress.timed("denoise", () => denoised(run, picture, known));
  const added = clean.slice(known.length).map((frame) => frame.slice());
  const anchor = scene ? unpackColours(scene.colours) : coloursOf(added.slice(0, overlap), latentDims(context)[1]);
  holdColours(added, { anchor, strength, overlap });
  const all = [...known, ...added];
  const frames = await progress.timed("decode", () => decoded(run, all, scene, known.length));
  return {
    frames,
    scene: {
      embedding: picture.embedding,
      known: joinFrames(all.slice(-overlap)),
      colours: packColours(anchor),
      last: frames.slice(-frames.length / added.length),
    },
  };
}
