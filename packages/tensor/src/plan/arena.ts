import { ARENA_ALIGNMENT_BYTES } from "@vd/kernels-native";
import { type Pausable, pausable } from "../pausable";
import type { Lifetime } from "./lifetimes";

/** Where blocks lie in the arena. */
export interface ArenaLayout {
  /** By storage id. */
  byteOffsets: ReadonlyMap<number, number>;
  bytes: number;
}

interface Placed {
  begin: number;
  end: number;
  first: number;
  last: number;
}

const align = (bytes: number) => Math.ceil(bytes / ARENA_ALIGNMENT_BYTES) * ARENA_ALIGNMENT_BYTES;

/** The lowest gap of `bytes` between the blocks that live at the same time. busy: sorted by begin. */
function lowestGap(busy: readonly Placed[], bytes: number): number {
  let begin = 0;
  for (const block of busy) {
    if (block.begin - begin >= bytes) return begin;
    begin = Math.max(begin, block.end);
  }
  return begin;
}

/** Blocks that are placed between two pauses. */
const PIECE = 16;

/** Places blocks so that those alive at the same row never overlap: largest first, each in the lowest gap. Pauses after
 *  some blocks. Source: https://arxiv.org/abs/2001.03288 "greedy by size". */
export const placeBlocks = pausable(function* (lifetimes: readonly Lifetime[]): Pausable<ArenaLayout> {
  const placed: Placed[] = [];
  const byteOffsets = new Map<number, number>();
  const order = [...lifetimes].sort((a, b) => b.storage.bytes - a.storage.bytes || a.first - b.first);
  let end = 0;
  for (const { storage, first, last } of order) {
    const bytes = align(storage.bytes);
    const busy = placed.filter((other) => other.first <= last && other.last >= first);
    const begin = lowestGap(
      busy.sort((a, b) => a.begin - b.begin),
      bytes,
    );
    placed.push({ begin, end: begin + bytes, first, last });
    byteOffsets.set(storage.id, begin);
    end = Math.max(end, begin + bytes);
    if (placed.length % PIECE === 0) yield;
  }
  return { byteOffsets, bytes: end };
});
