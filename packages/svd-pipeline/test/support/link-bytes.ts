import { type BlockMaps, canReplace, frameBytes, type TileChoice } from "@vd/vae-opt";

/** Returns the bytes that a decode in tiles moves between the device and the machine's memory, both ways together. maps: of all blocks. */
export function linkBytes(maps: readonly BlockMaps[], { numHeadBlocks, blocks }: TileChoice): number {
  const first = maps[numHeadBlocks]!.taken;
  let bytes = first.numFrames * frameBytes(first); // The head's map leaves the device as a whole.
  let onDevice = 0;
  for (const [i, { onDevice: room }] of blocks.entries()) {
    const each = maps[numHeadBlocks + i]!;
    const { taken, made } = each;
    const isEnd = i === blocks.length - 1;
    const stays = canReplace(each) ? room.made : room.taken;
    // Moved, and taken by the first half.
    bytes += (Math.abs(stays - onDevice) + taken.numFrames - stays) * frameBytes(taken);
    // Made by the first half, taken once or twice by the second, and made by it.
    bytes += (isEnd ? 2 : 4) * (made.numFrames - room.made) * frameBytes(made);
    onDevice = room.made;
  }
  return bytes;
}
