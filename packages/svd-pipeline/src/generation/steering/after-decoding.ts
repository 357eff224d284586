import { decodeStored } from "@vd/tensor";
import type { GenerationRun } from "../context";
import type { DecodedFrames } from "../video";
import { decodedShape } from "../../stages/definitions";

/** Returns the run as decoding sees it: with the frames that are decoded. */
export function decodingRun(run: GenerationRun): GenerationRun {
  const { context, progress, loader, noise } = run;
  const shape = decodedShape(context.shape);
  const checked = { ...context.checked, numFrames: shape.numFrames };
  return { progress, loader, noise, context: { ...context, shape, checked } };
}

/** Bytes of each frame, one after the other in the order of `indices`. */
function picked(bytes: Uint8Array, numFrames: number, indices: readonly number[]): Uint8Array {
  const length = bytes.length / numFrames;
  const result = new Uint8Array(indices.length * length);
  indices.forEach((frame, i) => void result.set(bytes.subarray(frame * length, (frame + 1) * length), i * length));
  return result;
}

/** The frames there and, but for the two ends, back. */
export function thereAndBack({ data, raw }: DecodedFrames, numFrames: number): DecodedFrames {
  const there = Array.from({ length: numFrames }, (_, i) => i);
  const indices = [...there, ...there.slice(1, -1).reverse()];
  return {
    data: picked(data, numFrames, indices),
    raw: { dtype: raw.dtype, bytes: picked(raw.bytes, numFrames, indices) },
  };
}

/** Values of frames with the mean of every two neighbours between them. */
function withMeans<T extends Uint8Array | Float32Array>(values: T, numFrames: number, isLoop: boolean, result: T): T {
  const length = values.length / numFrames;
  const isWhole = values instanceof Uint8Array;
  for (let frame = 0; frame < numFrames; frame++) {
    const here = frame * length;
    result.set(values.subarray(here, here + length), 2 * here);
    if (frame + 1 === numFrames && !isLoop) break;
    const next = ((frame + 1) % numFrames) * length;
    for (let i = 0; i < length; i++) {
      const mean = (values[here + i]! + values[next + i]!) / 2;
      result[2 * here + length + i] = isWhole ? Math.round(mean) : mean;
    }
  }
  return result;
}

/** Returns latents with the mean of every two neighbours between them, [F,C,h,w]. */
export function blendedLatents(latents: Float32Array, numFrames: number, isLoop: boolean): Float32Array {
  const count = isLoop ? 2 * numFrames : 2 * numFrames - 1;
  return withMeans(latents, numFrames, isLoop, new Float32Array((latents.length / numFrames) * count));
}

/** The frames with the mean of every two neighbours between them. */
export function blendedFrames({ data, raw }: DecodedFrames, numFrames: number, isLoop: boolean): DecodedFrames {
  const count = isLoop ? 2 * numFrames : 2 * numFrames - 1;
  const values = Float32Array.from(decodeStored(raw.bytes, raw.dtype));
  const means = withMeans(values, numFrames, isLoop, new Float32Array((values.length / numFrames) * count));
  return {
    data: withMeans(data, numFrames, isLoop, new Uint8Array((data.length / numFrames) * count)),
    raw: { dtype: "f32", bytes: new Uint8Array(means.buffer) },
  };
}

/** What becomes of decoded frames: those that are blended come between them, those of a boomerang behind. */
export function afterDecoding({ context }: GenerationRun, decoded: DecodedFrames): DecodedFrames {
  const { interpolation, loop, boomerang, numFrames } = context.checked;
  const doubles = interpolation === "blend";
  const frames = doubles ? blendedFrames(decoded, numFrames, loop) : decoded;
  const count = doubles ? 2 * numFrames - 1 : numFrames;
  return boomerang && count > 2 ? thereAndBack(frames, count) : frames;
}
