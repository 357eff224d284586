import { COUNT, DTYPES, type DType } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";
import { DTYPE } from "../wanted";

/** Size of a feature map of a clip. */
export interface MapSize {
  numFrames: number;
  height: number;
  width: number;
  channels: number;
  dtype: DType;
}

/** Of a frame of a map. */
export const FRAME_SIZE = { height: COUNT, width: COUNT, channels: COUNT, dtype: DTYPE };

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

/** Returns the bytes of a row of a map. */
export const rowBytes = ({ width, channels, dtype }: MapSize): number => width * channels * DTYPES[dtype];

/** Bytes of a map. */
export const mapBytes = (size: MapSize): number => size.numFrames * size.height * rowBytes(size);

/** Makes a map of zeros. */
export function emptyMap(size: MapSize): HostMap {
  const bytes = size.height * rowBytes(size);
  return { ...size, frames: Array.from({ length: size.numFrames }, () => new Uint8Array(bytes)) };
}

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
