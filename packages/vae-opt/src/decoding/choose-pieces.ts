import { COUNT, FUNCTION, NUMBER, optional, requireFields } from "@vd/kernels-native";
import type { TemporalVae } from "../temporal-decoder/vae";
import { frameBytes } from "./clip-map";
import { mapBytes } from "./host-map";
import {
  type BlockMaps,
  type BlockTiles,
  blockMaps,
  canReplace,
  type DecodePieces,
  heldBytes,
  type TileChoice,
} from "./pieces";
import {
  type BlockPart,
  type DecodeShape,
  decodeStage,
  headStage,
  requireDecode,
  spatialStage,
  temporalStage,
  type VaeStage,
} from "./stages";

/** Into how many chunks a clip is cut at most: each costs rows of its own. */
const MOST_CHUNKS = 32;
/** What is left of the memory of a whole decode when it is cut as small as can be: one feature map of five, and a few frames. */
const LEAST_SHARE = 0.25;
/** Most bytes of what a piece takes or makes: it keeps a GPU busy, and what larger ones would take to work in is better used for maps. */
const MOST_PIECE_BYTES = 160 * 2 ** 20;

/** What pieces are chosen by. */
export interface PieceBudget {
  /** Most bytes that a stage may take, its weights included. */
  budgetBytes: number;
  /** Bytes that a stage takes, its weights included. */
  bytesOf(stage: VaeStage): Promise<number>;
  /** Frames at a time, if the caller has chosen them already. */
  chunkFrames?: number | undefined;
}

const BUDGET = { budgetBytes: NUMBER, bytesOf: FUNCTION, chunkFrames: optional(COUNT) };

/** A decode's pieces, and what they take. */
export interface ChosenPieces {
  pieces: DecodePieces;
  /** Of the stage that takes most, its weights included. */
  bytes: number;
  /** False where even the smallest pieces are too much; they are then the smallest. */
  fits: boolean;
}

/** All frames, then one fewer and so on: even where the largest work is cut into as many pieces, fewer take less. */
function chunkLengths(numFrames: number): (number | undefined)[] {
  const least = Math.ceil(numFrames / MOST_CHUNKS);
  return [undefined, ...Array.from({ length: numFrames - least }, (_, i) => numFrames - 1 - i)];
}

interface Found<T> {
  choice: T;
  bytes: number;
  fits: boolean;
}

/** The first of `choices`, of which each takes less than the one before, that fits; else the last. */
async function firstThatFits<T>(
  choices: readonly T[],
  bytesAt: (choice: T) => Promise<number>,
  budgetBytes: number,
): Promise<Found<T>> {
  const found = async (i: number): Promise<Found<T>> => {
    const bytes = await bytesAt(choices[i]!);
    return { choice: choices[i]!, bytes, fits: bytes <= budgetBytes };
  };
  let best = await found(choices.length - 1);
  if (!best.fits) return best;
  let [fits, tooLarge] = [choices.length - 1, -1];
  while (fits - tooLarge > 1) {
    const middle = (fits + tooLarge) >> 1;
    const here = await found(middle);
    if (here.fits) [fits, best] = [middle, here];
    else tooLarge = middle;
  }
  return best;
}

/** Pieces along an axis of `most`, as few as can be: what pieces take grows by the same bytes with each frame or row. */
async function largestPiece(
  most: number,
  unitBytes: number,
  bytesAt: (size: number) => Promise<number>,
  budgetBytes: number,
): Promise<Found<number>> {
  const limit = Math.max(Math.min(most, Math.floor(MOST_PIECE_BYTES / unitBytes)), 1);
  const one = await bytesAt(1);
  if (one > budgetBytes || limit === 1) return { choice: 1, bytes: one, fits: one <= budgetBytes };
  const slope = Math.max((await bytesAt(2)) - one, 1);
  let size = Math.min(limit, 1 + Math.floor((budgetBytes - one) / slope));
  let bytes = await bytesAt(size);
  // Where blocks are placed in memory differs a little from size to size.
  while (bytes > budgetBytes && size > 1) {
    size = Math.max(Math.min(size - 1, Math.floor(size * 0.95)), 1);
    bytes = await bytesAt(size);
  }
  // As many pieces, as even as can be, take less.
  const even = Math.ceil(most / Math.ceil(most / size));
  if (even < size) [size, bytes] = [even, await bytesAt(even)];
  return { choice: size, bytes, fits: bytes <= budgetBytes };
}

/** Returns how many frames of a block's maps stay on the device, where its stages leave `room`, `frames` at a time. */
function framesOnDevice(maps: BlockMaps, frames: number, room: number): BlockTiles["onDevice"] {
  const { taken, made } = maps;
  // What is made is used several times, what is taken once.
  const numMade = Math.max(Math.min(made.numFrames, Math.floor(room / frameBytes(made))), 0);
  if (canReplace(maps)) return { made: numMade, taken: numMade };
  let [fits, tooMany] = [0, taken.numFrames + 1];
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    const { spatial } = heldBytes(maps, { onDevice: { made: numMade, taken: middle }, frames });
    if (spatial <= room) fits = middle;
    else tooMany = middle;
  }
  return { made: numMade, taken: fits };
}

/** How blocks from `first` on are cut, and the end. Blocks of the same shapes take the same. */
async function blockTiles(
  vae: TemporalVae,
  shape: DecodeShape,
  first: number,
  { budgetBytes, bytesOf }: PieceBudget,
): Promise<Found<BlockTiles[]>> {
  const known = new Map<string, { frames: Found<number>; rows: Found<number> }>();
  const blocks: BlockTiles[] = [];
  let [bytes, fits] = [0, true];
  for (const [block, { taken, made }] of blockMaps(vae, shape).entries()) {
    if (block < first) continue;
    const key = JSON.stringify([taken, made]);
    const at = (stage: typeof spatialStage, map: BlockPart["map"]) => (size: number) =>
      bytesOf(stage(vae, shape, { block, map, size }));
    const allRows = mapBytes({ ...made, height: 1 });
    const found = known.get(key) ?? {
      frames: await largestPiece(
        taken.numFrames,
        Math.max(frameBytes(taken), frameBytes(made)),
        at(spatialStage, taken),
        budgetBytes,
      ),
      rows: await largestPiece(made.height, allRows, at(temporalStage, made), budgetBytes),
    };
    known.set(key, found);
    const own = Math.max(found.frames.bytes, found.rows.bytes);
    const sizes = { frames: found.frames.choice, rows: found.rows.choice };
    const onDevice = framesOnDevice({ taken, made }, sizes.frames, budgetBytes - own);
    blocks.push({ ...sizes, onDevice });
    const held = heldBytes({ taken, made }, { onDevice, frames: sizes.frames });
    bytes = Math.max(bytes, found.frames.bytes + held.spatial, found.rows.bytes + held.temporal);
    fits &&= found.frames.fits && found.rows.fits;
  }
  return { choice: blocks, bytes, fits };
}

/** Tiles behind as many whole levels as fit: what stays on the device need not be copied. */
async function chooseTiles(vae: TemporalVae, shape: DecodeShape, budget: PieceBudget): Promise<Found<TileChoice>> {
  const { budgetBytes, bytesOf } = budget;
  const ends = [...new Set(vae.blocks.map(({ level }) => vae.blocks.filter((block) => block.level < level).length))];
  const choices = ends.sort((a, b) => b - a);
  const bytesAt = (numBlocks: number, frames = shape.numFrames) =>
    bytesOf(headStage(vae, shape, { numBlocks, chunkFrames: frames }));
  const smallest = await firstThatFits(choices, (numBlocks) => bytesAt(numBlocks, 1), budgetBytes);
  const numHeadBlocks = smallest.choice;
  const lengths = chunkLengths(shape.numFrames);
  const head = await firstThatFits(lengths, (frames) => bytesAt(numHeadBlocks, frames), budgetBytes);
  const blocks = await blockTiles(vae, shape, numHeadBlocks, budget);
  return {
    choice: { numHeadBlocks, headChunkFrames: head.choice ?? shape.numFrames, blocks: blocks.choice },
    bytes: Math.max(head.bytes, blocks.bytes),
    fits: head.fits && blocks.fits,
  };
}

/**
 * Chooses how to decode within a number of bytes: whole if it fits, else the most frames at a time, else tiles. Each look
 * records a stage.
 *
 * @throws VdError `attr` for what is no decode or no budget
 */
export async function chooseDecodePieces(
  vae: TemporalVae,
  shape: DecodeShape,
  budget: PieceBudget,
): Promise<ChosenPieces> {
  requireDecode("chooseDecodePieces", vae, shape);
  requireFields("chooseDecodePieces budget", budget, BUDGET);
  const { budgetBytes, bytesOf, chunkFrames } = budget;
  const bytesAt = (frames: number | undefined) => bytesOf(decodeStage(vae, shape, frames));
  const whole = await bytesAt(chunkFrames);
  if (whole <= budgetBytes) return { pieces: { chunkFrames }, bytes: whole, fits: true };
  const mayChunk = chunkFrames === undefined && LEAST_SHARE * whole <= budgetBytes && shape.numFrames > 1;
  const chunked = mayChunk ? await firstThatFits(chunkLengths(shape.numFrames), bytesAt, budgetBytes) : undefined;
  if (chunked?.fits) return { pieces: { chunkFrames: chunked.choice }, bytes: chunked.bytes, fits: true };
  const { choice, bytes, fits } = await chooseTiles(vae, shape, budget);
  return { pieces: { tiles: choice }, bytes, fits };
}
