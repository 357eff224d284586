import { types } from "node:util";
import { sharedFloats, VdError } from "@vd/kernels-native";
import { type Pausable, runInSlices } from "@vd/tensor";

/** Bytes that the addon copies while the event loop waits: half a millisecond. */
const AT_ONCE = 2 ** 21;
/** Bytes between two pauses. */
const PIECE = 2 ** 18;

/** The first `byteLength` bytes of `data` in shared memory. Pauses after each piece. */
function* sharedBytes(data: Uint8Array | Float32Array, byteLength: number): Pausable<ArrayBufferLike> {
  const result = new Uint8Array(sharedFloats(Math.ceil(byteLength / 4)).buffer, 0, byteLength);
  for (let at = 0; at < byteLength; at += PIECE) {
    if (data.byteLength !== byteLength) {
      const [expected, got] = [`the ${byteLength} bytes that it had`, `${data.byteLength}`];
      throw new VdError({ code: "layout", where: "picture data", expected, got });
    }
    const bytes = Math.min(PIECE, byteLength - at);
    result.set(new Uint8Array(data.buffer, data.byteOffset + at, bytes), at);
    yield;
  }
  return result.buffer;
}

/**
 * Returns pixels that the addon need not copy, or copies in no time: many that are not in shared memory are copied there in pieces, so that
 * the event loop turns meanwhile.
 *
 * @throws VdError `layout` where they are taken away meanwhile, `memory` where there is none for the copy
 */
export async function steadyPixels<Pixels extends Uint8Array | Float32Array>(pixels: Pixels): Promise<Pixels> {
  const { byteLength, length } = pixels;
  if (byteLength <= AT_ONCE || types.isSharedArrayBuffer(pixels.buffer)) return pixels;
  const buffer = await runInSlices(sharedBytes(pixels, byteLength));
  return (types.isFloat32Array(pixels) ? new Float32Array(buffer) : new Uint8Array(buffer, 0, length)) as Pixels;
}
