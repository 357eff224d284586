import { COUNT, having, listOf, OBJECT, optional, requireArgument, requireFields, wholeFrom } from "@vd/kernels-native";
import type { TemporalVae } from "../temporal-decoder/vae";
import { frameBytes } from "./clip-map";
import { type MapSize, mapBytes } from "./host-map";
import { type DecodeShape, requireDecode } from "./stages";

/** How one block of a tiled decode is cut. */
export interface BlockTiles {
  /** Frames at a time in the half that sees whole pictures. */
  frames: number;
  /** Rows of a tile in the half that sees all frames. */
  rows: number;
  /** Frames that stay on the device between pieces, of the map that the block takes and of the one that it makes; others lie in the machine's
   *  memory. A block that makes a map of the same size puts it in the place of what it takes, and `made` counts. */
  onDevice: { taken: number; made: number };
}

/** How a decode is cut into tiles: maps lie on the device as far as it has room, else in the machine's memory, and each half of a block is
 *  computed piece by piece along the axis that it does not look along, so that the result is that of the whole decode. */
export interface TileChoice {
  /** Blocks that are computed on the device as a whole before tiles begin. */
  numHeadBlocks: number;
  /** Frames at a time in these. */
  headChunkFrames: number;
  /** Of the blocks behind them, and of what comes behind the last block. */
  blocks: readonly BlockTiles[];
}

/** Of a choice of tiles. */
export const TILES = { numHeadBlocks: wholeFrom(0), headChunkFrames: COUNT, blocks: listOf(OBJECT) };

/** How a clip is decoded: whole, over a few frames at a time, or in tiles. The result is the same. */
export interface DecodePieces {
  /** Frames that spatial layers compute at a time; undefined for all. Unused with tiles. */
  chunkFrames?: number | undefined;
  tiles?: TileChoice | undefined;
}

/** The maps around the halves of a block: what it takes, and what its first half returns, which is of its result's size. */
export interface BlockMaps {
  taken: MapSize;
  made: MapSize;
}

const MAPS = { taken: OBJECT, made: OBJECT };
const ALL_MAPS = listOf(having("maps of a block", Object.keys(MAPS), "blockMaps returns them."));
const PIECES = { chunkFrames: optional(COUNT), tiles: optional(OBJECT) };

/** Returns the maps of every block from the first on, and of the end. @throws VdError `attr` for what is no decode */
export function blockMaps(vae: TemporalVae, shape: DecodeShape): BlockMaps[] {
  requireDecode("blockMaps", vae, shape);
  const { numFrames, height, width, dtype } = shape;
  const size = { numFrames, dtype };
  let [h, w] = [height, width];
  const maps = vae.blocks.map(({ grow, cin, channels }): BlockMaps => {
    const taken = { ...size, height: h, width: w, channels: cin };
    [h, w] = [h * grow, w * grow];
    return { taken, made: { ...size, height: h, width: w, channels } };
  });
  const { cin, channels } = vae.end;
  const end = { ...size, height: h, width: w };
  return [...maps, { taken: { ...end, channels: cin }, made: { ...end, channels } }];
}

/** True if a block's result can take the place of what it took: its halves look along other axes than the pieces go.
 *  @throws VdError `attr` for what are no maps */
export function canReplace(maps: BlockMaps): boolean {
  requireFields("canReplace maps", maps, MAPS);
  const { taken, made } = maps;
  return taken.height === made.height && taken.channels === made.channels;
}

/** Returns the most bytes of the machine's memory that maps of a tiled decode take at a time. @throws VdError `attr` for what are no maps
 *  or tiles */
export function hostBytes(maps: readonly BlockMaps[], tiles: TileChoice): number {
  requireArgument("hostBytes maps", maps, ALL_MAPS);
  requireFields("hostBytes tiles", tiles, TILES);
  const { numHeadBlocks, blocks } = tiles;
  const bytesOf = (each: BlockMaps, { onDevice }: BlockTiles) => {
    const made = (each.made.numFrames - onDevice.made) * frameBytes(each.made);
    return made + (canReplace(each) ? 0 : (each.taken.numFrames - onDevice.taken) * frameBytes(each.taken));
  };
  const behindHead = mapBytes(maps[numHeadBlocks]!.taken); // The head's own map leaves no room on the device.
  return Math.max(behindHead, ...maps.slice(numHeadBlocks).map((each, i) => bytesOf(each, blocks[i]!)));
}

/** What a block's maps take of the device beside its halves. */
export interface HeldBytes {
  /** Beside the half that sees whole pictures: frames that it took go, piece by piece, once those that it makes are there. */
  spatial: number;
  temporal: number;
}

/** Returns the most bytes that a block's maps take of the device beside each of its halves. */
export function heldBytes(
  maps: BlockMaps,
  { onDevice: { taken, made }, frames }: Pick<BlockTiles, "onDevice" | "frames">,
): HeldBytes {
  const temporal = made * frameBytes(maps.made);
  if (canReplace(maps)) return { spatial: temporal, temporal };
  const both = (begin: number) =>
    Math.max(taken - begin, 0) * frameBytes(maps.taken) + Math.min(made, begin + frames) * frameBytes(maps.made);
  // Most is there at the beginning, when the last frame is made that stays, or when the last one goes that was taken.
  const before = (frame: number) => Math.max(Math.floor(frame / frames), 0) * frames;
  const begins = [made - frames, taken].flatMap((frame) => [before(frame), before(frame) + frames]);
  const spatial = Math.max(...[0, ...begins].filter((begin) => begin < maps.taken.numFrames).map(both), temporal);
  return { spatial, temporal };
}

/** A number of things in words: 1 frame, 2 frames. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** The shortest and the longest length of what is cut, as words. */
function rangeOf(values: readonly number[], what: string): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? counted(most, what) : `${least} to ${counted(most, what)}`;
}

/** Returns what pieces mean, as a part of a sentence. @throws VdError `attr` for what are none */
export function describePieces(pieces: DecodePieces): string {
  requireFields("describePieces", pieces, PIECES);
  const { chunkFrames, tiles } = pieces;
  if (!tiles) return chunkFrames === undefined ? "whole" : `${counted(chunkFrames, "frame")} at a time`;
  requireFields("describePieces tiles", tiles, TILES);
  const { numHeadBlocks, blocks } = tiles;
  const [frames, rows] = [blocks.map((block) => block.frames), blocks.map((block) => block.rows)];
  const begin = numHeadBlocks > 0 ? `${counted(numHeadBlocks, "block")} whole, then ` : "";
  const held = rangeOf(
    blocks.map(({ onDevice }) => onDevice.made),
    "frame",
  );
  return (
    `in tiles: ${begin}whole pictures of ${rangeOf(frames, "frame")} in turn with all frames of ${rangeOf(rows, "row")}, ` +
    `maps of ${held} on the device`
  );
}
