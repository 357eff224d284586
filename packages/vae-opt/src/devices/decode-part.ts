import { COUNT, optional, requireArgument, requireFields } from "@vd/kernels-native";
import {
  frameChunks,
  frameRange,
  type Graph,
  joinedStatistics,
  NUM_GROUPS,
  type Pausable,
  SharedBlock,
  type Tensor,
} from "@vd/tensor";
import { type MapSize, mapBytes } from "../decoding/host-map";
import { blockMaps } from "../decoding/pieces";
import {
  type DecodeShape,
  latentPixels,
  outputFrames,
  recording,
  requireDecode,
  type VaeStage,
} from "../decoding/stages";
import type { DecoderBlock } from "../temporal-decoder/decoder";
import type { TemporalVae } from "../temporal-decoder/vae";
import { FRAME_RUN, type FrameRun } from "./frame-runs";

/** What devices tell each other after a step. */
export interface Exchange {
  /** Frames of the device's run, with a place before and behind them for the neighbours' frames: [1,f,H,W,C]. */
  map: Tensor;
  /** Of each frame of the run, for the norm over all runs that the next step begins with: [1,f,groups,2]; undefined where it has none. */
  statistics: Tensor | undefined;
}

/** A part of the work on one run of frames that needs nothing from other devices. */
export interface PartStep {
  stage: VaeStage;
  /** Undefined after the last step. */
  exchange: Exchange | undefined;
}

/** The work of one device in a decode that several share. */
export interface DecodePart {
  run: FrameRun;
  /** What outlives a step, in the device's memory. */
  block: SharedBlock;
  /** Where each step but the first is told the statistics of all frames, [1,F,groups,2]; it writes over them. */
  statistics: Tensor;
  steps: readonly PartStep[];
}

/** What the steps of a part are recorded with. */
interface PartContext {
  vae: TemporalVae;
  shape: DecodeShape;
  run: FrameRun;
  block: SharedBlock;
  /** Frames that spatial layers compute at a time. */
  chunkFrames: number;
}

const lengthOf = ({ begin, end }: FrameRun): number => end - begin;

/** The place of a map with the neighbours' frames; maps of one name take turns in it. */
function mapIn({ run, block }: PartContext, name: string, { height, width, channels, dtype }: MapSize): Tensor {
  const [before, after] = run.neighbours.map(Number) as [number, number];
  return block.tensor(name, [1, before + lengthOf(run) + after, height, width, channels], dtype);
}

/** The run's own frames of a map. */
export function ownFrames(map: Tensor, run: FrameRun): Tensor {
  const before = Number(run.neighbours[0]);
  return frameRange(map, before, before + lengthOf(run));
}

/** Records what sees whole pictures, some frames at a time. */
function* spatially(
  g: Graph,
  { run, chunkFrames }: PartContext,
  spatial: DecoderBlock["spatial"],
  [x, out]: [Tensor, Tensor],
): Pausable<void> {
  for (const [begin, end] of frameChunks(lengthOf(run), chunkFrames)) {
    spatial(g, frameRange(x, begin, end), frameRange(out, begin, end));
    yield;
  }
}

/** Statistics of the run's frames of a map, of all runs' frames where `numFrames` says how many those are; `name` tells places apart. */
function statisticsIn({ run, block }: PartContext, name: string, numFrames = lengthOf(run)): Tensor {
  return block.tensor(`${name} statistics`, [1, numFrames, NUM_GROUPS, 2], "f32");
}

const statisticsOfAll = (context: PartContext): Tensor => statisticsIn(context, "all", context.shape.numFrames);

/** Records the statistics of the run's frames of what was made, for the others. */
function measure(g: Graph, name: string, { map, statistics: out }: Exchange, { run, eps }: FrameRunNorm): void {
  g.groupNormStats({ name: `${name}.statistics`, x: ownFrames(map, run), groups: NUM_GROUPS, eps, out });
}

/** A norm over frames of which a device has some. */
interface FrameRunNorm {
  run: FrameRun;
  eps: number;
}

/** Records the half of a block, or of the end, that sees whole pictures: of x into the map that is exchanged next. */
function* spatialPart(g: Graph, context: PartContext, block: number, x: Tensor): Pausable<void> {
  const { vae, run } = context;
  const decoder = vae.blocks[block];
  const exchange = spatialExchange(context, block);
  yield* spatially(g, context, (decoder ?? vae.end).spatial, [x, ownFrames(exchange.map, run)]);
  if (decoder) measure(g, decoder.name, exchange, { run, eps: decoder.temporalEps });
}

/** What follows on a block's first half, or on the end's. */
function spatialExchange(context: PartContext, block: number): Exchange {
  const { vae, shape } = context;
  const { made } = blockMaps(vae, shape)[block]!;
  const statistics = vae.blocks[block] && statisticsIn(context, "map");
  return { map: mapIn(context, "map", made), statistics };
}

/** What follows on the first half of a block's half that sees all frames. */
function temporalExchange(context: PartContext, block: number): Exchange {
  const { vae, shape } = context;
  const { made } = blockMaps(vae, shape)[block]!;
  return { map: mapIn(context, "half", made), statistics: statisticsIn(context, "half") };
}

function stageOf(context: PartContext, step: string, build: (g: Graph) => Pausable<void>): VaeStage {
  const { shape, run, chunkFrames } = context;
  return {
    name: "decode",
    key: `decode frames ${run.begin} to ${run.end} of ${shape.numFrames}, ${chunkFrames} at a time, ${step}`,
    dtype: shape.dtype,
    build: recording(shape, build),
  };
}

/** Latents of the run to the first block's map: `latents` f32[1,f,C,h,w]. */
function firstStep(context: PartContext): PartStep {
  const { vae, shape, run, chunkFrames } = context;
  const stage = stageOf(context, "first", function* (g) {
    const z = yield* latentPixels(g, vae, { ...shape, numFrames: lengthOf(run) });
    const x = yield* vae.decodeHead.inPieces(g, z, { numBlocks: 0, chunkFrames });
    yield* spatialPart(g, context, 0, x);
  });
  return { stage, exchange: spatialExchange(context, 0) };
}

/** The first norm and convolution over frames of a block: of the map → the half-way map. */
function middleStep(context: PartContext, block: number): PartStep {
  const { vae, run } = context;
  const decoder = vae.blocks[block]!;
  const [taken, exchange] = [spatialExchange(context, block), temporalExchange(context, block)];
  const stage = stageOf(context, `${block} middle`, function* (g) {
    const stats = joinedStatistics(g, decoder.name, statisticsOfAll(context), decoder.temporalEps);
    const call = { stats, neighbours: run.neighbours, out: ownFrames(exchange.map, run) };
    decoder.temporalHalves[0](g, taken.map, call);
    measure(g, `${decoder.name}.middle`, exchange, { run, eps: decoder.temporalEps });
    yield;
  });
  return { stage, exchange };
}

/** The second norm and convolution over frames of a block, then what sees whole pictures of the next one: of the half-way map → the next
 *  block's map. */
function nextStep(context: PartContext, block: number): PartStep {
  const { vae, run } = context;
  const [first, half] = [spatialExchange(context, block), temporalExchange(context, block)];
  const stage = stageOf(context, `${block} end`, function* (g) {
    const { name, temporalEps, temporalHalves } = vae.blocks[block]!;
    const stats = joinedStatistics(g, `${name}.middle`, statisticsOfAll(context), temporalEps);
    const call = { stats, neighbours: run.neighbours, residual: ownFrames(first.map, run) };
    const x = temporalHalves[1](g, half.map, call);
    yield;
    yield* spatialPart(g, context, block + 1, x);
  });
  return { stage, exchange: spatialExchange(context, block + 1) };
}

/** The last convolution over frames → `frames` [1,f,H,W,3] and `levels`. */
function lastStep(context: PartContext): PartStep {
  const { vae, run } = context;
  const { map } = spatialExchange(context, vae.blocks.length);
  const stage = stageOf(context, "last", function* (g) {
    outputFrames(g, vae.end.temporal(g, map, run.neighbours));
    yield;
  });
  return { stage, exchange: undefined };
}

/**
 * Returns the work of one device in a decode of a whole clip by several, each with a run of its frames. What sees whole pictures needs
 * nothing from the others. What sees all frames needs the statistics of its norms over all runs, and the frame before and behind its
 * own: those are exchanged after each step, so the result is that of a decode on one device. chunkFrames: frames that spatial layers
 * compute at a time, default all of the run.
 *
 * @throws VdError `attr` for what is no decode or no run
 */
export function decodePart(vae: TemporalVae, shape: DecodeShape, run: FrameRun, chunkFrames?: number): DecodePart {
  requireDecode("decodePart", vae, shape);
  requireFields("decodePart run", run, FRAME_RUN);
  requireArgument("decodePart chunkFrames", chunkFrames, optional(COUNT));
  const block = new SharedBlock();
  const context = { vae, shape, run, block, chunkFrames: Math.min(chunkFrames ?? lengthOf(run), lengthOf(run)) };
  const steps = vae.blocks.flatMap((_, i) => [middleStep(context, i), nextStep(context, i)]);
  return { run, block, statistics: statisticsOfAll(context), steps: [firstStep(context), ...steps, lastStep(context)] };
}

/** Returns the bytes that a device takes from its neighbours in a decode: a frame of each map from each of them.
 *  @throws VdError `attr` for what is no decode or no run */
export function receivedBytes(vae: TemporalVae, shape: DecodeShape, run: FrameRun): number {
  requireDecode("receivedBytes", vae, shape);
  requireFields("receivedBytes run", run, FRAME_RUN);
  const numNeighbours = run.neighbours.filter(Boolean).length;
  const maps = blockMaps(vae, { ...shape, numFrames: 1 });
  const frames = maps.map(({ made }, i) => (i < vae.blocks.length ? 2 : 1) * mapBytes(made));
  return numNeighbours * frames.reduce((sum, bytes) => sum + bytes, 0);
}
