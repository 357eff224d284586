import {
  arrayOf,
  cancelledError,
  FLOATS_32,
  FUNCTION,
  listOf,
  OBJECT,
  oneOfThese,
  requireFields,
} from "@vd/kernels-native";
import { frameChunks, type Pausable, type Plan, pausable, runInSlices } from "@vd/tensor";
import { HostFrames } from "../host-frames";
import type { TemporalVae } from "../temporal-decoder/vae";
import { ClipMap, type MapMemory } from "./clip-map";
import { emptyMap, type HostMap, type MapPart, type MapSize, placePart } from "./host-map";
import { joinStatistics, type PartStatistics } from "./norm-statistics";
import { type BlockMaps, type BlockTiles, blockMaps, canReplace, heldBytes, TILES, type TileChoice } from "./pieces";
import {
  type BlockPart,
  type DecodeShape,
  headStage,
  measuringStage,
  requireDecode,
  STATISTICS_INPUTS,
  type StageRunner,
  spatialStage,
  temporalStage,
  type VaeStage,
} from "./stages";

/** Results of a decode that can be asked for: frames as the device stores them, as float32, and in 8 bits. */
export type FramesOutput = "frames" | "floats" | "levels";

/** A map between two blocks of a decode. */
export interface MapBehind {
  map: HostMap;
  /** The blocks that it has gone through. */
  numBlocks: number;
}

/** Where a decode keeps its map after each block, and finds the one that an earlier run of the same decode has kept. */
export interface KeptMaps {
  last(): Promise<MapBehind | undefined>;
  keep(behind: MapBehind): Promise<void>;
}

/** A decode in tiles. */
export interface TiledDecode extends MapMemory {
  vae: TemporalVae;
  shape: DecodeShape;
  tiles: TileChoice;
  /** [F,C,h,w]. */
  latents: Float32Array;
  outputs: readonly FramesOutput[];
  /** Loads and frees stages. */
  run: StageRunner;
  signal?: AbortSignal | undefined;
  /** Hears of finished blocks, the first of the head as one, and the end as one. */
  onPart?: ((done: number, total: number) => void) | undefined;
  /** Blocks whose map an earlier run has kept are not computed again. */
  kept?: KeptMaps | undefined;
}

const DECODE = {
  ...{ device: OBJECT, tiles: OBJECT, latents: FLOATS_32, run: FUNCTION },
  outputs: listOf(oneOfThese(["frames", "floats", "levels"] satisfies FramesOutput[])),
};
const FRAMES = { frames: listOf(arrayOf("Uint8Array")) };

/** A decode in tiles that has begun. */
type TiledJob = TiledDecode & { hostFrames: HostFrames };

type MakeStage = (vae: TemporalVae, shape: DecodeShape, part: BlockPart) => VaeStage;

/** What is done to every piece of a map. */
interface PieceWork {
  job: TiledJob;
  block: number;
  stage: MakeStage;
  map: ClipMap;
  /** The axis along which the map is cut, and the length of a piece. */
  along: "frames" | "rows";
  length: number;
  statistics?: readonly Float32Array[];
}

/** Runs of the same length together, so that one plan serves them. */
function byLength(
  chunks: readonly (readonly [number, number])[],
): [length: number, chunks: (readonly [number, number])[]][] {
  const groups = new Map<number, (readonly [number, number])[]>();
  for (const chunk of chunks) groups.set(chunk[1] - chunk[0], [...(groups.get(chunk[1] - chunk[0]) ?? []), chunk]);
  return [...groups];
}

/** Computes a half of a block piece by piece; `body` takes what came out of each. */
async function overPieces(
  { job, block, stage, map, along, length, statistics = [] }: PieceWork,
  body: (plan: Plan, part: MapPart, weight: number) => Promise<void>,
): Promise<void> {
  const { vae, shape, signal, run } = job;
  const { numFrames, height } = map.size;
  const total = along === "frames" ? numFrames : height;
  for (const [size, chunks] of byLength(frameChunks(total, length)))
    await run(stage(vae, shape, { block, map: map.size, size }), async (plan) => {
      for (const [i, values] of statistics.entries()) await plan.write(STATISTICS_INPUTS[i]!, values);
      for (const chunk of chunks) {
        if (signal?.aborted) throw cancelledError("decode", { signal });
        const part: MapPart = { frames: [0, numFrames], rows: [0, height], [along]: chunk };
        await map.copyTo(plan, "x", part);
        await plan.run({ signal });
        await body(plan, part, size);
      }
    });
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array) => new Uint8Array(buffer, byteOffset, byteLength);

const OUTPUT_TYPES = { floats: "f32", levels: "u8" } as const;

/** Reads an output of a piece into its place. */
async function keep(job: TiledJob, plan: Plan, name: string, [into, part]: [HostMap, MapPart]): Promise<void> {
  const bytes = name === "floats" ? bytesOf(await plan.read("frames")) : await plan.readBytes(name);
  await runInSlices(placePart.inPieces(into, part, bytes), { signal: job.signal, where: "decode" });
}

/** The first half, over some frames at a time; with the statistics of what the second half gets. */
async function spatialHalf(
  job: TiledJob,
  block: number,
  { map, maps, tiles }: { map: ClipMap; maps: BlockMaps; tiles: BlockTiles },
): Promise<{ made: ClipMap; statistics: Float32Array | undefined }> {
  const replaces = canReplace(maps);
  await map.keepOnDevice(replaces ? tiles.onDevice.made : tiles.onDevice.taken);
  const made = replaces ? map : new ClipMap(maps.made, job, tiles.onDevice.made);
  const parts: PartStatistics[] = [];
  const decoder = job.vae.blocks[block];
  const work: PieceWork = { job, block, stage: spatialStage, map, along: "frames", length: tiles.frames };
  try {
    await overPieces(work, async (plan, { frames }, weight) => {
      await made.copyFrom(plan, "y", { frames, rows: [0, maps.made.height] });
      if (!replaces) await map.free(frames);
      if (decoder) parts.push({ values: await plan.read("statistics"), weight });
    });
  } catch (error) {
    await made.free();
    throw error;
  }
  return { made, statistics: decoder && joinStatistics(parts, decoder.temporalEps) };
}

/** The second half, over some rows at a time, in the place of what it takes. */
async function temporalHalf(
  job: TiledJob,
  block: number,
  { map, rows, statistics }: { map: ClipMap; rows: number; statistics: Float32Array },
): Promise<void> {
  const parts: PartStatistics[] = [];
  const work = { job, block, map, along: "rows", length: rows } as const;
  await overPieces({ ...work, stage: measuringStage, statistics: [statistics] }, async (plan, _, weight) => {
    parts.push({ values: await plan.read("statistics"), weight });
  });
  const second = joinStatistics(parts, job.vae.blocks[block]!.temporalEps);
  await overPieces({ ...work, stage: temporalStage, statistics: [statistics, second] }, (plan, part) =>
    map.copyFrom(plan, "y", part),
  );
}

/** What comes behind the last block. */
async function decodeEnd(
  job: TiledJob,
  { made, rows, size }: { made: ClipMap; rows: number; size: MapSize },
): Promise<Map<FramesOutput, HostMap>> {
  const results = new Map(
    job.outputs.map((name) => [name, emptyMap(name === "frames" ? size : { ...size, dtype: OUTPUT_TYPES[name] })]),
  );
  const block = job.vae.blocks.length;
  const work = { job, block, stage: temporalStage, map: made, along: "rows", length: rows } as const;
  await overPieces(work, async (plan, part) => {
    for (const [name, into] of results) await keep(job, plan, name, [into, part]);
  });
  return results;
}

/** Computes the map behind the first blocks. */
async function decodeHead({ shape, tiles, latents, signal, ...job }: TiledJob, map: ClipMap): Promise<void> {
  const head = { numBlocks: tiles.numHeadBlocks, chunkFrames: tiles.headChunkFrames };
  await job.run(headStage(job.vae, shape, head), async (plan) => {
    await plan.write("latents", latents);
    await plan.run({ signal });
    await map.copyFrom(plan, "y", { frames: [0, map.size.numFrames], rows: [0, map.size.height] });
  });
}

/** Finds the last map that was kept, or computes the first one. Returns the number of blocks behind it. */
async function beginning(job: TiledJob, found: MapBehind | undefined, map: ClipMap): Promise<number> {
  if (found) {
    await map.write(found.map);
    return found.numBlocks;
  }
  const { numHeadBlocks } = job.tiles;
  await decodeHead(job, map);
  await job.kept?.keep({ map: await map.read(), numBlocks: numHeadBlocks });
  return numHeadBlocks;
}

/**
 * Decodes a clip piece by piece: the half of a block that sees whole pictures over some frames at a time, the half that sees all frames
 * over some rows at a time. Feature maps lie on the device as far as it has room, and in the machine's memory. Norms over the whole clip get
 * statistics that are joined from all pieces first, so there are no seams, and the result is that of the whole decode. Returns frames one by
 * one, [H,W,3] in bytes, by output.
 *
 * @throws VdError `memory` where a stage does not fit, `cancelled` once the signal has fired, `attr` for what is no decode
 */
export async function decodeInTiles(decode: TiledDecode): Promise<Map<FramesOutput, HostMap>> {
  requireFields("decodeInTiles", decode, DECODE);
  requireDecode("decodeInTiles", decode.vae, decode.shape);
  requireFields("decodeInTiles tiles", decode.tiles, TILES);
  const job: TiledJob = { ...decode, hostFrames: new HostFrames(decode.device) };
  const { vae, shape, tiles } = job;
  const { numHeadBlocks } = tiles;
  const maps = blockMaps(vae, shape);
  const total = tiles.blocks.length + 1;
  job.onPart?.(0, total);
  const found = await job.kept?.last();
  let map = new ClipMap(maps[found?.numBlocks ?? numHeadBlocks]!.taken, job);
  try {
    const numDone = (await beginning(job, found, map)) - numHeadBlocks;
    job.onPart?.(numDone + 1, total);
    for (const [i, blockTiles] of tiles.blocks.entries()) {
      if (i < numDone) continue;
      const block = numHeadBlocks + i;
      const { made, statistics } = await spatialHalf(job, block, { map, maps: maps[block]!, tiles: blockTiles });
      map = made;
      if (!statistics) break;
      await temporalHalf(job, block, { map, rows: blockTiles.rows, statistics });
      await job.kept?.keep({ map: await map.read(), numBlocks: block + 1 });
      job.onPart?.(i + 2, total);
    }
    const results = await decodeEnd(job, { made: map, rows: tiles.blocks.at(-1)!.rows, size: maps.at(-1)!.made });
    job.onPart?.(total, total);
    return results;
  } finally {
    await map.free();
    await job.hostFrames.free();
  }
}

/** A stage of a decode in tiles. */
export interface TileStage {
  stage: VaeStage;
  /** How often it runs. */
  runs: number;
  /** Bytes of maps on the device meanwhile. */
  heldBytes: number;
}

/** Returns the stages of a decode in tiles: what it will cost. Runs of another length at the end of an axis are counted as whole ones.
 *  @throws VdError `attr` for what is no decode in tiles */
export function tileStages(vae: TemporalVae, shape: DecodeShape, tiling: TileChoice): TileStage[] {
  requireDecode("tileStages", vae, shape);
  requireFields("tileStages tiles", tiling, TILES);
  const { numHeadBlocks, headChunkFrames, blocks } = tiling;
  const maps = blockMaps(vae, shape);
  const head = headStage(vae, shape, { numBlocks: numHeadBlocks, chunkFrames: headChunkFrames });
  const stages = blocks.flatMap((tiles, i): TileStage[] => {
    const block = numHeadBlocks + i;
    const { taken, made } = maps[block]!;
    const held = heldBytes(maps[block]!, tiles);
    const spatial = spatialStage(vae, shape, { block, map: taken, size: tiles.frames });
    const temporal = { block, map: made, size: tiles.rows };
    const overRows = [...(block < vae.blocks.length ? [measuringStage] : []), temporalStage];
    return [
      { stage: spatial, runs: Math.ceil(shape.numFrames / tiles.frames), heldBytes: held.spatial },
      ...overRows.map((stage) => ({
        ...{ stage: stage(vae, shape, temporal), runs: Math.ceil(made.height / tiles.rows), heldBytes: held.temporal },
      })),
    ];
  });
  return [{ stage: head, runs: 1, heldBytes: 0 }, ...stages];
}

/** Returns all frames of a result in one array, [F,H,W,C] in bytes. Pauses after each frame. @throws VdError `attr` for what is no map */
export const joinedFrames = pausable(function* (map: HostMap): Pausable<Uint8Array> {
  requireFields("joinedFrames map", map, FRAMES);
  const { frames } = map;
  const result = new Uint8Array(frames.length * (frames[0]?.length ?? 0));
  for (const [i, frame] of frames.entries()) {
    result.set(frame, i * frame.length);
    yield;
  }
  return result;
});
