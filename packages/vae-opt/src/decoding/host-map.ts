import { DTYPES, type DType } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";

/** Size of a feature map of a clip. */
export interface MapSize {
  numFrames: number;
  height: number;
  width: number;
  channels: number;
  dtype: DType;
}

/** A feature map of a clip in host memory, channels last, frame by frame: one array for all could be longer than arrays
 *  may be. */
export interface HostMap extends MapSize {
  frames: Uint8Array[];
}

/** A part of a map: frames and rows, `begin` to `end` (exclusive). */
export interface MapPart {
  frames: readonly [begin: number, end: number];
  rows: readonly [begin: number, end: number];
}

const rowBytes = ({ width, channels, dtype }: MapSize): number => width * channels * DTYPES[dtype];

/** Bytes of a map. */
export const mapBytes = (size: MapSize): number => size.numFrames * size.height * rowBytes(size);

/** Makes a map of zeros. */
export function emptyMap(size: MapSize): HostMap {
  const bytes = size.height * rowBytes(size);
  return { ...size, frames: Array.from({ length: size.numFrames }, () => new Uint8Array(bytes)) };
}

/** Returns a part as [1,f,rows,W,C], as what `Plan.write` takes: floats, or 16-bit floats as raw bits. Pauses. */
export const cutPart = pausable(function* (
  map: HostMap,
  { frames, rows }: MapPart,
): Pausable<Float32Array | Uint16Array> {
  const [from, to] = rows.map((row) => row * rowBytes(map)) as [number, number];
  // The addon reads shared memory in place.
  const bytes = new Uint8Array(new SharedArrayBuffer((frames[1] - frames[0]) * (to - from)));
  for (let frame = frames[0]; frame < frames[1]; frame++) {
    bytes.set(map.frames[frame]!.subarray(from, to), (frame - frames[0]) * (to - from));
    yield;
  }
  return map.dtype === "f32" ? new Float32Array(bytes.buffer) : new Uint16Array(bytes.buffer);
});

/** Puts a part [1,f,rows,W,C] in its place. Pauses. */
export const placePart = pausable(function* (
  map: HostMap,
  { frames, rows }: MapPart,
  bytes: Uint8Array,
): Pausable<void> {
  const [from, to] = rows.map((row) => row * rowBytes(map)) as [number, number];
  for (let frame = frames[0]; frame < frames[1]; frame++) {
    const begin = (frame - frames[0]) * (to - from);
    map.frames[frame]!.set(bytes.subarray(begin, begin + to - from), from);
    yield;
  }
});
