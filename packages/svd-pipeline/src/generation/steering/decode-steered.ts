import { decodedShape } from "../../stages/definitions";
import type { GenerationRun } from "../context";
import { decodeFrames } from "../decode-frames";
import type { DecodedFrames } from "../video";
import { latentFrames, loopContext } from "./frame-counts";
import { blendedFrames, pickedFrames } from "./frame-lists";

/** The run as decoding sees it: with the frames that are decoded. A loop's are told of once its further ends are cut off. */
function decodingRun({ context, ...run }: GenerationRun, isLoop: boolean): GenerationRun {
  const shape = decodedShape(context.shape);
  const checked = { ...context.checked, numFrames: shape.numFrames };
  const options = isLoop ? { ...context.options, onFrames: undefined } : context.options;
  return { ...run, context: { ...context, shape, checked, options } };
}

/** Latents with frames of the other end on both sides, [F,C,h,w]. */
function around(latents: Float32Array, numFrames: number, context: number): Float32Array {
  const length = latents.length / numFrames;
  const result = new Float32Array(latents.length + 2 * context * length);
  result.set(latents.subarray(latents.length - context * length));
  result.set(latents, context * length);
  result.set(latents.subarray(0, context * length), context * length + latents.length);
  return result;
}

/** Decodes a loop as if it had no ends. */
async function decodeLoop(run: GenerationRun, latents: Float32Array): Promise<DecodedFrames> {
  const { checked, options } = run.context;
  const numFrames = latentFrames(checked);
  const extra = loopContext(checked);
  const whole = await decodeFrames(decodingRun(run, true), around(latents, numFrames, extra));
  const inside = Array.from({ length: numFrames }, (_, i) => extra + i);
  const frames = pickedFrames(whole, numFrames + 2 * extra, inside);
  options.onFrames?.({ first: 0, numFrames, width: checked.width, height: checked.height, frames: frames.data });
  return frames;
}

/** Decodes the latents of a video, [F,C,h,w], and makes the frames that follow from its own: those between two, and the way back. */
export async function decodeSteered(run: GenerationRun, latents: Float32Array): Promise<DecodedFrames> {
  const { checked } = run.context;
  const { loop, boomerang, interpolation } = checked;
  const decoded = loop ? await decodeLoop(run, latents) : await decodeFrames(decodingRun(run, false), latents);
  const isBlended = interpolation === "blend";
  const frames = isBlended ? blendedFrames(decoded, checked.numFrames, loop) : decoded;
  const numFrames = isBlended ? 2 * checked.numFrames - 1 : latentFrames(checked);
  if (!boomerang) return frames;
  const there = Array.from({ length: numFrames }, (_, i) => i);
  return pickedFrames(frames, numFrames, [...there, ...there.slice(1, -1).reverse()]);
}
