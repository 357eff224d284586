import { cancelledError } from "@vd/kernels-native";
import { frameChunks, type Pausable, type Plan, pausable, runInSlices } from "@vd/tensor";
import type { TemporalVae } from "../temporal-decoder/vae";
import { cutPart, emptyMap, type HostMap, type MapPart, type MapSize, placePart } from "./host-map";
import { joinStatistics, type PartStatistics } from "./norm-statistics";
import { type BlockMaps, type BlockTiles, blockMaps, canReplace, type TileChoice } from "./pieces";
import {
  type BlockPart,
  type DecodeShape,
  headStage,
  measuringStage,
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
export interface TiledDecode {
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

type MakeStage = (vae: TemporalVae, shape: DecodeShape, part: BlockPart) => VaeStage;

/** What is done to every piece of a map. */
interface PieceWork {
  job: TiledDecode;
  block: number;
  stage: MakeStage;
  map: HostMap;
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
  const total = along === "frames" ? map.numFrames : map.height;
  for (const [size, chunks] of byLength(frameChunks(total, length)))
    await run(stage(vae, shape, { block, map, size }), async (plan) => {
      for (const [i, values] of statistics.entries()) await plan.write(STATISTICS_INPUTS[i]!, values);
      for (const chunk of chunks) {
        if (signal?.aborted) throw cancelledError("decode", { signal });
        const whole: MapPart = { frames: [0, map.numFrames], rows: [0, map.height] };
        const part: MapPart = { ...whole, [along]: chunk };
        await plan.write("x", await runInSlices(cutPart.inPieces(map, part), { signal, where: "decode" }));
        await plan.run({ signal });
        await body(plan, part, size);
      }
    });
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array) => new Uint8Array(buffer, byteOffset, byteLength);

const OUTPUT_TYPES = { floats: "f32", levels: "u8" } as const;

/** Reads an output of a piece into its place. */
async function keep(job: TiledDecode, plan: Plan, name: string, [into, part]: [HostMap, MapPart]): Promise<void> {
  const bytes = name === "floats" ? bytesOf(await plan.read("frames")) : await plan.readBytes(name);
  await runInSlices(placePart.inPieces(into, part, bytes), { signal: job.signal, where: "decode" });
}

/** The first half, over some frames at a time; with the statistics of what the second half gets. */
async function spatialHalf(
  job: TiledDecode,
  block: number,
  { map, maps, frames }: { map: HostMap; maps: BlockMaps; frames: number },
): Promise<{ made: HostMap; statistics: Float32Array | undefined }> {
  const made = canReplace(maps) ? map : emptyMap(maps.made);
  const parts: PartStatistics[] = [];
  const decoder = job.vae.blocks[block];
  const work: PieceWork = { job, block, stage: spatialStage, map, along: "frames", length: frames };
  await overPieces(work, async (plan, { frames: some }, weight) => {
    await keep(job, plan, "y", [made, { frames: some, rows: [0, made.height] }]);
    if (decoder) parts.push({ values: await plan.read("statistics"), weight });
  });
  return { made, statistics: decoder && joinStatistics(parts, decoder.temporalEps) };
}

/** The second half, over some rows at a time, in the place of what it takes. */
async function temporalHalf(
  job: TiledDecode,
  block: number,
  { map, rows, statistics }: { map: HostMap; rows: number; statistics: Float32Array },
): Promise<void> {
  const parts: PartStatistics[] = [];
  const work = { job, block, map, along: "rows", length: rows } as const;
  await overPieces({ ...work, stage: measuringStage, statistics: [statistics] }, async (plan, _, weight) => {
    parts.push({ values: await plan.read("statistics"), weight });
  });
  const second = joinStatistics(parts, job.vae.blocks[block]!.temporalEps);
  await overPieces({ ...work, stage: temporalStage, statistics: [statistics, second] }, (plan, part) =>
    keep(job, plan, "y", [map, part]),
  );
}

/** What comes behind the last block. */
async function decodeEnd(
  job: TiledDecode,
  { map, maps, tiles }: { map: HostMap; maps: BlockMaps; tiles: BlockTiles },
): Promise<Map<FramesOutput, HostMap>> {
  const block = job.vae.blocks.length;
  const { made } = await spatialHalf(job, block, { map, maps, frames: tiles.frames });
  const size: MapSize = maps.made;
  const results = new Map(
    job.outputs.map((name) => [name, emptyMap(name === "frames" ? size : { ...size, dtype: OUTPUT_TYPES[name] })]),
  );
  const work = { job, block, stage: temporalStage, map: made, along: "rows", length: tiles.rows } as const;
  await overPieces(work, async (plan, part) => {
    for (const [name, into] of results) await keep(job, plan, name, [into, part]);
  });
  return results;
}

/** The map behind the first blocks. */
function decodeHead({ vae, shape, tiles, latents, run, signal }: TiledDecode, size: MapSize): Promise<HostMap> {
  const head = { numBlocks: tiles.numHeadBlocks, chunkFrames: tiles.headChunkFrames };
  return run(headStage(vae, shape, head), async (plan) => {
    await plan.write("latents", latents);
    await plan.run({ signal });
    const bytes = await plan.readBytes("y");
    const length = bytes.length / size.numFrames;
    const frames = Array.from({ length: size.numFrames }, (_, i) => bytes.subarray(i * length, (i + 1) * length));
    return { ...size, frames };
  });
}

/**
 * Decodes a clip piece by piece with feature maps in host memory: the half of a block that sees whole pictures over some
 * frames at a time, the half that sees all frames over some rows at a time. Norms over the whole clip get statistics that
 * are joined from all pieces first, so there are no seams, and the result is that of the whole decode. Returns frames one by
 * one, [H,W,3] in bytes, by output.
 *
 * @throws VdError `memory` where a stage does not fit, `cancelled` once the signal has fired
 */
export async function decodeInTiles(job: TiledDecode): Promise<Map<FramesOutput, HostMap>> {
  const { vae, shape, tiles } = job;
  const maps = blockMaps(vae, shape);
  const total = tiles.blocks.length + 1;
  job.onPart?.(0, total);
  const { numHeadBlocks } = tiles;
  const behindHead = async () => {
    const head = { map: await decodeHead(job, maps[numHeadBlocks]!.taken), numBlocks: numHeadBlocks };
    await job.kept?.keep(head);
    return head;
  };
  const begin = (await job.kept?.last()) ?? (await behindHead());
  let { map } = begin;
  const numDone = begin.numBlocks - numHeadBlocks;
  job.onPart?.(numDone + 1, total);
  for (const [i, { frames, rows }] of tiles.blocks.slice(0, -1).entries()) {
    if (i < numDone) continue;
    const block = numHeadBlocks + i;
    const { made, statistics } = await spatialHalf(job, block, { map, maps: maps[block]!, frames });
    await temporalHalf(job, block, { map: made, rows, statistics: statistics! });
    map = made;
    await job.kept?.keep({ map, numBlocks: block + 1 });
    job.onPart?.(i + 2, total);
  }
  const end = { map, maps: maps[maps.length - 1]!, tiles: tiles.blocks[tiles.blocks.length - 1]! };
  const results = await decodeEnd(job, end);
  job.onPart?.(total, total);
  return results;
}

/** Returns the stages of a decode in tiles, and how often each runs: what it will cost. Runs of another length at the end of
 *  an axis are counted as whole ones. */
export function tileStages(
  vae: TemporalVae,
  shape: DecodeShape,
  { numHeadBlocks, headChunkFrames, blocks }: TileChoice,
): [stage: VaeStage, runs: number][] {
  const maps = blockMaps(vae, shape);
  const head = headStage(vae, shape, { numBlocks: numHeadBlocks, chunkFrames: headChunkFrames });
  const stages = blocks.flatMap(({ frames, rows }, i): [VaeStage, number][] => {
    const block = numHeadBlocks + i;
    const { taken, made } = maps[block]!;
    const tiles = Math.ceil(made.height / rows);
    const spatial = spatialStage(vae, shape, { block, map: taken, size: frames });
    const temporal = { block, map: made, size: rows };
    const measuring: [VaeStage, number][] =
      block < vae.blocks.length ? [[measuringStage(vae, shape, temporal), tiles]] : [];
    return [[spatial, Math.ceil(shape.numFrames / frames)], ...measuring, [temporalStage(vae, shape, temporal), tiles]];
  });
  return [[head, 1], ...stages];
}

/** Returns all frames of a result in one array, [F,H,W,C] in bytes. Pauses after each frame. */
export const joinedFrames = pausable(function* ({ frames }: HostMap): Pausable<Uint8Array> {
  const result = new Uint8Array(frames.length * frames[0]!.length);
  for (const [i, frame] of frames.entries()) {
    result.set(frame, i * frame.length);
    yield;
  }
  return result;
});
