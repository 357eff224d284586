import { VdError } from "@vd/kernels-native";
import type { TemporalVae } from "../temporal-decoder/vae";
import type { BlockTiles, DecodePieces, TileChoice } from "./pieces";

const HINT = "Give `pieces` of what plan(…) returns for these latents.";

/** Refuses what is no whole number of a range. */
function checkWhole(where: string, value: unknown, least: number, most: number): void {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return;
  const expected = `a whole number from ${least} to ${most}`;
  throw new VdError({ code: "attr", where: `pieces] [${where}`, expected, got: String(value), hint: HINT });
}

function checkObject(where: string, value: unknown, names: readonly string[]): void {
  const isObject = typeof value === "object" && value !== null;
  const other = isObject ? Object.keys(value).find((name) => !names.includes(name)) : undefined;
  if (isObject && other === undefined) return;
  const expected = `an object of ${names.join(", ")}`;
  const got = isObject ? `also ${other}` : String(value);
  throw new VdError({ code: "attr", where, expected, got, hint: HINT });
}

/** More frames and rows than any clip has: pieces may be longer than what they cut. */
const MOST = 65_536;

function checkBlock(where: string, block: BlockTiles): void {
  checkObject(`pieces] [${where}`, block, ["frames", "rows", "onDevice"]);
  checkWhole(`${where}.frames`, block.frames, 1, MOST);
  checkWhole(`${where}.rows`, block.rows, 1, MOST);
  checkObject(`pieces] [${where}.onDevice`, block.onDevice, ["taken", "made"]);
  checkWhole(`${where}.onDevice.taken`, block.onDevice.taken, 0, MOST);
  checkWhole(`${where}.onDevice.made`, block.onDevice.made, 0, MOST);
}

function checkTiles(tiles: TileChoice, numBlocks: number): void {
  checkObject("pieces] [tiles", tiles, ["numHeadBlocks", "headChunkFrames", "blocks"]);
  checkWhole("tiles.numHeadBlocks", tiles.numHeadBlocks, 0, numBlocks);
  checkWhole("tiles.headChunkFrames", tiles.headChunkFrames, 1, MOST);
  // Those behind the head, and what comes behind the last block.
  const count = numBlocks - tiles.numHeadBlocks + 1;
  const isList = Array.isArray(tiles.blocks);
  if (!isList || tiles.blocks.length !== count)
    throw new VdError({
      ...{ code: "attr", where: "pieces] [tiles.blocks", expected: `a list of ${count} blocks' tiles`, hint: HINT },
      got: isList ? `a list of ${tiles.blocks.length}` : typeof tiles.blocks,
    });
  for (const [i, block] of tiles.blocks.entries()) checkBlock(`tiles.blocks.${i}`, block);
}

/**
 * Checks pieces that a caller gives for a decode: others would leave frames as memory happened to be.
 *
 * @throws VdError `attr`
 */
export function checkPieces(pieces: DecodePieces, { blocks }: Pick<TemporalVae, "blocks">): void {
  checkObject("pieces", pieces, ["chunkFrames", "tiles"]);
  if (pieces.chunkFrames !== undefined) checkWhole("chunkFrames", pieces.chunkFrames, 1, MOST);
  if (pieces.tiles !== undefined) checkTiles(pieces.tiles, blocks.length);
}
