import type { Device, DType } from "@vd/kernels-native";
import {
  type Graph,
  type GraphLayout,
  layoutGraph,
  type Pausable,
  packedBytes,
  runInSlices,
  type Tensor,
  tokens,
} from "@vd/tensor";
import { worksBesideHost } from "./beside-host";
import type { Clip } from "./clip";
import { frameFactor, pictureFactor } from "./config";
import type { Piece, StreamMemory } from "./frame-memory";
import type { CausalVideoVae, ModelPart } from "./model";

/** Which way a clip goes. */
export type Direction = "encode" | "decode";

/** What both directions share. */
export interface Resources {
  model: CausalVideoVae;
  device: Device;
  /** Of activations. */
  dtype: DType;
}

/** Which part of encoder or decoder: all of it, or one of the two into which it can be cut for strips or for turns. */
export type PartName = "all" | "strips" | "rest" | "outer" | "inner";

/** The other part of each. */
const OTHER_PART = { strips: "rest", rest: "strips", outer: "inner", inner: "outer" } as const;

/** The parts that run in turns, in the order of computation. */
export const TURN_PARTS = { encode: ["outer", "inner"], decode: ["inner", "outer"] } as const;

/** Whether a part takes what callers give. */
const isFirst = (direction: Direction, part: PartName): boolean =>
  part === "all" || (direction === "encode" ? ["strips", "outer"] : ["rest", "inner"]).includes(part);

/** Shape of the pieces that a session runs. */
export interface PieceShape {
  part: PartName;
  /** In latents: of the whole picture or of a strip. */
  height: number;
  width: number;
  /** Latents of a piece; the clip's first one is a piece of its own. */
  latentsPerRun: number;
  framesAtOnce: number;
}

/** More frames than any piece has. */
export const ALL_FRAMES = 2 ** 16;

/** Type of a plan's input: as callers give it, but activations of the part before where those stay on devices and hosts as they are. */
const inputType = ({ dtype }: Resources, direction: Direction, part: PartName): DType =>
  part === TURN_PARTS[direction][1] ? dtype : "f32";

/** How many frames go in for `latents` latents. begins: the piece is the clip's first one. */
export function inputFrames(
  { model }: Pick<Resources, "model">,
  direction: Direction,
  latents: number,
  begins: boolean,
) {
  const factor = frameFactor(model.config);
  if (direction === "decode") return latents;
  return begins ? factor * (latents - 1) + 1 : factor * latents;
}

/** The part of that name. The caller knows that there is one: plans name no others. */
export function partOf({ model }: Pick<Resources, "model">, direction: Direction, name: PartName): ModelPart {
  return model.parts[direction][name]!;
}

/** Shape of what a part takes for so many latents. */
export function inputDims(
  resources: Pick<Resources, "model">,
  direction: Direction,
  { part, height, width }: Pick<PieceShape, "part" | "height" | "width">,
  { latents, begins }: { latents: number; begins: boolean },
): [1, number, number, number, number] {
  const { config, parts } = resources.model;
  const before = part === "all" || isFirst(direction, part) ? undefined : parts[direction][OTHER_PART[part]];
  const scale = (direction === "encode" ? pictureFactor(config) : 1) * (before?.growth ?? 1);
  const frames = inputFrames(resources, direction, latents, begins);
  const channels = partOf(resources, direction, part).channels[0];
  return [1, before ? before.framesOf(frames, begins) : frames, height * scale, width * scale, channels];
}

/** Shape of what a part gives for so many latents. */
export function resultDims(
  resources: Pick<Resources, "model">,
  direction: Direction,
  shape: Pick<PieceShape, "part" | "height" | "width">,
  piece: { latents: number; begins: boolean },
): Clip["dims"] {
  const [, frames, height, width] = inputDims(resources, direction, shape, piece);
  const { growth, channels, framesOf } = partOf(resources, direction, shape.part);
  return [framesOf(frames, piece.begins), height * growth, width * growth, channels[1]];
}

/** Bytes of the block from which results are read while the next piece runs; 0 where that is not done: for parts whose results
 *  other parts take, and on the CPU, whose workers compute then. */
export function readbackBytes(resources: Resources, direction: Direction, shape: PieceShape): number {
  const isLast = shape.part === "all" || shape.part === TURN_PARTS[direction][1];
  if (!isLast || !worksBesideHost(resources.device)) return 0;
  const piece = { latents: shape.latentsPerRun, begins: false };
  return packedBytes([1, ...resultDims(resources, direction, shape, piece)], resources.dtype);
}

/** Bytes of the block to which the next piece's input goes while a piece runs; 0 where that is not done, as for {@link readbackBytes}. */
export function inputBytes(resources: Resources, direction: Direction, shape: PieceShape): number {
  const isFirstPart = shape.part === "all" || shape.part === TURN_PARTS[direction][0];
  if (!isFirstPart || !worksBesideHost(resources.device)) return 0;
  return packedBytes(inputDims(resources, direction, shape, { latents: shape.latentsPerRun, begins: false }), "f32");
}

/** Bytes of what lies between the turns for so many latents. */
export function bytesBetweenTurns(
  resources: Resources,
  direction: Direction,
  shape: Pick<PieceShape, "height" | "width">,
  piece: { latents: number; begins: boolean },
): number {
  const part = TURN_PARTS[direction][1];
  return packedBytes(inputDims(resources, direction, { ...shape, part }, piece), resources.dtype);
}

/** The input in the type that layers compute in. */
function converted(g: Graph, x: Tensor): Tensor {
  if (x.dtype === g.dtype) return x;
  const y = g.empty(x.dims);
  g.copy({ name: "input", x: tokens(x), out: tokens(y) });
  return y;
}

/** The parts of what a piece takes, in the order of its frames, and their frames. Of what lies between turns each part does without memory
 *  once it is read; any other input is one. */
function inputParts(
  { resources, direction, shape }: { resources: Resources; direction: Direction; shape: PieceShape },
  count: number,
  begins: boolean,
): { name: string; frames: number }[] {
  if (shape.part !== TURN_PARTS[direction][1]) return [{ name: "x", frames: count }];
  const ends = partOf(resources, direction, shape.part).inputEnds(count, begins, shape.framesAtOnce);
  return ends.map((end, i) => ({ name: `x.${i}`, frames: end - (ends[i - 1] ?? 0) }));
}

/** What is laid out. */
export interface PieceToLayOut {
  latents: number;
  begins: boolean;
  stream: StreamMemory;
  statistics?: Piece["statistics"];
}

/** Lays out the plan of a piece with so many latents. What it takes must be written before each run. */
export function layoutPiece(
  resources: Resources,
  direction: Direction,
  shape: PieceShape,
  { latents, begins, stream, statistics }: PieceToLayOut,
): Promise<GraphLayout> {
  const { dtype } = resources;
  const [, count, ...frame] = inputDims(resources, direction, shape, { latents, begins });
  const parts = inputParts({ resources, direction, shape }, count, begins);
  const type = inputType(resources, direction, shape.part);
  const { forward } = partOf(resources, direction, shape.part);
  const record = function* (g: Graph): Pausable<void> {
    const x = parts.map(({ name, frames }) => converted(g, g.arenaInput(name, [1, frames, ...frame], type)));
    const piece = { begins, ends: false, memory: stream.memory, ...(statistics ? { statistics } : {}) };
    g.output("y", yield* forward.inPieces(g, x, { framesAtOnce: shape.framesAtOnce, piece }));
  };
  return runInSlices(layoutGraph.inPieces(record, { dtype }));
}
