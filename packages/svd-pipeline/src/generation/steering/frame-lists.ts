import { decodeStored } from "@vd/tensor";
import type { DecodedFrames } from "../video";

/** Bytes of each frame, one after the other in the order of `indices`. */
function picked(bytes: Uint8Array, numFrames: number, indices: readonly number[]): Uint8Array {
  const length = bytes.length / numFrames;
  const result = new Uint8Array(indices.length * length);
  indices.forEach((frame, i) => void result.set(bytes.subarray(frame * length, (frame + 1) * length), i * length));
  return result;
}

/** Returns frames of a video in the order of `indices`. */
export function pickedFrames(
  { data, raw }: DecodedFrames,
  numFrames: number,
  indices: readonly number[],
): DecodedFrames {
  const bytes = picked(raw.bytes, numFrames, indices);
  return { data: picked(data, numFrames, indices), raw: { dtype: raw.dtype, bytes } };
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

/** Returns frames with the mean of every two neighbours between them. */
export function blendedFrames({ data, raw }: DecodedFrames, numFrames: number, isLoop: boolean): DecodedFrames {
  const count = isLoop ? 2 * numFrames : 2 * numFrames - 1;
  const values = Float32Array.from(decodeStored(raw.bytes, raw.dtype));
  const means = withMeans(values, numFrames, isLoop, new Float32Array((values.length / numFrames) * count));
  return {
    data: withMeans(data, numFrames, isLoop, new Uint8Array((data.length / numFrames) * count)),
    raw: { dtype: "f32", bytes: new Uint8Array(means.buffer) },
  };
}
