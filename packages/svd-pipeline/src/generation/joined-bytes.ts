import { type Pausable, pausable } from "@vd/tensor";

/** Bytes that are copied between two pauses. */
const PIECE_BYTES = 1 << 20;

/** Returns all parts in one array. Pauses after some bytes. */
export const joinedBytes = pausable(function* (parts: readonly Uint8Array[]): Pausable<Uint8Array<ArrayBuffer>> {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts)
    for (let begin = 0; begin < part.length; begin += PIECE_BYTES) {
      const piece = part.subarray(begin, begin + PIECE_BYTES);
      all.set(piece, at);
      at += piece.length;
      yield;
    }
  return all;
});
