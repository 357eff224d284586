import { freemem } from "node:os";
import { type Device, throwIfAborted, VdError } from "@vd/kernels-native";
import { inBinaryUnits } from "../binary-units";
import { checkCallOptions, type OptionKinds } from "../call-options";
import { worksBesideHost } from "./beside-host";
import { MAX_SIDE } from "./clip";
import { pictureFactor } from "./config";
import { StreamMemory } from "./frame-memory";
import type { CausalVideoVae } from "./model";
import { statisticsFor } from "./norm-statistics";
import {
  ALL_FRAMES,
  bytesBetweenTurns,
  type Direction,
  inputBytes,
  layoutPiece,
  type PieceShape,
  type Resources,
  readbackBytes,
  TURN_PARTS,
} from "./piece-layout";
import { stripsOf } from "./strips";

/** How one direction's work is cut. */
export interface StreamPlan {
  /** Latents of a piece that runs at once; the clip's first one is a piece of its own. */
  latentsPerRun: number;
  /** Frames that layers compute at a time within a piece; in turns the part that takes less memory may compute more. */
  framesAtOnce: number;
  /** Rows of latents of the strips over which the model's outer part runs; undefined: it runs over whole pictures. The result is
   *  the same to 70 dB or more, but each strip is computed several times. */
  stripHeight?: number | undefined;
  /** Latents of a turn: so many go through the model's inner part, with its results in the machine's memory, before its outer part takes
   *  them; the other way round where frames are encoded. A clip given whole has longer turns where the machine has memory for them.
   *  undefined: every piece goes through the whole model. The result is the same. */
  latentsPerTurn?: number | undefined;
  /** Bytes on the device at most, weights included: for a clip of any length. In turns a GPU keeps the plans of both parts loaded where these
   *  bytes have room for them. */
  bytes: number;
  /** Bytes of the host's memory that strips keep between pieces, or that turns of `latentsPerTurn` take. */
  hostBytes: number;
}

/** How both directions' work is cut. */
export interface CausalVaePlan {
  encode: StreamPlan;
  decode: StreamPlan;
}

/** What {@link CausalVaePlan} is made for. */
export interface PlanRequest {
  /** Of frames, in pixels. */
  height: number;
  width: number;
  /** Default: what the device has to spare. */
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** From fast to small: all of these give the same results. */
const CUTS: readonly Pick<PieceShape, "latentsPerRun" | "framesAtOnce">[] = [
  { latentsPerRun: 4, framesAtOnce: 16 },
  { latentsPerRun: 2, framesAtOnce: 8 },
  { latentsPerRun: 1, framesAtOnce: 4 },
  { latentsPerRun: 1, framesAtOnce: 2 },
  { latentsPerRun: 1, framesAtOnce: 1 },
];

/** Latents of a turn of a stream. Each turn moves what convolutions keep to the host and back: the more latents, the less often, but
 *  the more lies in host memory and the longer a stream waits for its first frames. */
const LATENTS_PER_TURN = 8;

/** Rows of latents of a strip that count, from many to few; more rows on either side reach into them. */
const STRIP_ROWS = [64, 48, 32, 24, 16, 8, 4, 2, 1];

/** Part of a device's free memory that is left for others. */
const SPARE = 0.1;

/** What the machine has to spare. */
export const spareHostBytes = () => (1 - SPARE) * (process.availableMemory?.() ?? freemem());

/** What a device has to spare. */
export async function spareBytes(device: Device): Promise<number> {
  if (device.kind === "cpu") return spareHostBytes();
  const { freeBytes, residentBytes } = await device.memory();
  return (1 - SPARE) * (freeBytes + residentBytes);
}

/** What a session takes of the device. */
interface SessionBytes {
  /** All of it. */
  bytes: number;
  /** Of that: what is kept from piece to piece, what lies between layers, what goes in and out, and weights. */
  kept: number;
  arenaBytes: number;
  ioBytes: number;
  weightBytes: number;
}

/** What sessions of a model take, by what decides it: finding that takes many layouts, and every clip asks for it. */
const known = new WeakMap<CausalVideoVae, Map<string, Promise<SessionBytes>>>();

function sessionBytes(resources: Resources, direction: Direction, shape: PieceShape): Promise<SessionBytes> {
  const { model, dtype, device } = resources;
  const { part, height, width, latentsPerRun, framesAtOnce } = shape;
  const key = [direction, dtype, device.kind, part, height, width, latentsPerRun, framesAtOnce].join(" ");
  const ofModel = known.get(model) ?? new Map<string, Promise<SessionBytes>>();
  known.set(model, ofModel);
  const bytes = ofModel.get(key) ?? findSessionBytes(resources, direction, shape);
  ofModel.set(key, bytes);
  bytes.catch(() => ofModel.delete(key));
  return bytes;
}

/** Sums what is kept, the plan of the middle pieces and the largest other one, in one arena; the blocks through which inputs and results pass; and weights. */
async function findSessionBytes(resources: Resources, direction: Direction, shape: PieceShape): Promise<SessionBytes> {
  const stream = new StreamMemory();
  const statistics = statisticsFor(shape);
  const layoutOf = async (latents: number, begins: boolean) =>
    (await layoutPiece(resources, direction, shape, { latents, begins, stream, statistics })).memory;
  const middle = await layoutOf(shape.latentsPerRun, false);
  const others = [await layoutOf(1, true)];
  if (shape.latentsPerRun > 1) others.push(await layoutOf(shape.latentsPerRun - 1, false));
  const arenaBytes = Math.max(middle.arenaBytes, ...others.map((other) => other.arenaBytes));
  const ioBytes =
    middle.ioBytes +
    Math.max(...others.map((other) => other.ioBytes)) +
    inputBytes(resources, direction, shape) +
    readbackBytes(resources, direction, shape);
  const { weightBytes } = middle;
  const bytes = stream.bytes + arenaBytes + ioBytes + weightBytes;
  return { bytes, kept: stream.bytes, arenaBytes, ioBytes, weightBytes };
}

/** What the two parts take that run in turns. */
export interface TurnBytes {
  /** Frames that each part's layers compute at a time, in the order of computation: more than were asked for where the other part takes as
   *  much memory anyway. */
  framesAtOnce: readonly [number, number];
  /** With each part beside the other's weights and a block through which values pass. */
  deviceBytes: number;
  /** What both keep, and what lies between them. */
  hostBytes: number;
  /** With the plans of both loaded, in one memory: that of what is kept, that of what lies between layers, and all. */
  shared: { keptBytes: number; arenaBytes: number; deviceBytes: number };
}

/** What a session takes that comes and goes with its turn. */
const turnsOwn = ({ bytes, weightBytes }: SessionBytes): number => bytes - weightBytes;

/** Finds the most frames at a time with which one of the parts that run in turns takes no more than one of `parts` takes. */
async function framesWithin(
  parts: readonly SessionBytes[],
  resources: Resources,
  direction: Direction,
  shape: PieceShape,
): Promise<number> {
  const most = (of: (part: SessionBytes) => number) => Math.max(...parts.map(of));
  for (const { latentsPerRun, framesAtOnce } of CUTS) {
    if (latentsPerRun !== shape.latentsPerRun || framesAtOnce <= shape.framesAtOnce) continue;
    const bytes = await sessionBytes(resources, direction, { ...shape, framesAtOnce });
    if (bytes.arenaBytes <= most(({ arenaBytes }) => arenaBytes) && turnsOwn(bytes) <= most(turnsOwn))
      return framesAtOnce;
  }
  return shape.framesAtOnce;
}

/** Finds what the two parts take that run in turns. shape: of the part that takes the most. */
export async function turnBytes(
  resources: Resources,
  direction: Direction,
  shape: Omit<PieceShape, "part">,
): Promise<TurnBytes> {
  const [first, second] = TURN_PARTS[direction].map((part) => ({ ...shape, part }));
  const parts = [await sessionBytes(resources, direction, first!), await sessionBytes(resources, direction, second!)];
  const between = bytesBetweenTurns(resources, direction, shape, { latents: shape.latentsPerRun, begins: false });
  const sum = (of: (part: SessionBytes) => number) => parts.reduce((all, part) => all + of(part), 0);
  const most = (of: (part: SessionBytes) => number) => Math.max(...parts.map(of));
  const always = between + sum(({ weightBytes }) => weightBytes);
  const [keptBytes, arenaBytes] = [most(({ kept }) => kept), most((part) => part.arenaBytes)];
  return {
    framesAtOnce: [
      await framesWithin(parts, resources, direction, first!),
      await framesWithin(parts, resources, direction, second!),
    ],
    deviceBytes: always + most(turnsOwn),
    hostBytes: sum(({ kept }) => kept) + (LATENTS_PER_TURN / shape.latentsPerRun) * between,
    shared: { keptBytes, arenaBytes, deviceBytes: always + keptBytes + arenaBytes + sum(({ ioBytes }) => ioBytes) },
  };
}

/** A way to cut the work, and what it takes. */
type Choice = Omit<StreamPlan, "bytes"> & { deviceBytes: number };

/** The ways to cut pictures of `height` × `width` latents, from fast to small. */
async function* choices(
  resources: Resources,
  direction: Direction,
  height: number,
  width: number,
): AsyncGenerator<Choice, void, void> {
  for (const cut of CUTS) {
    const { bytes } = await sessionBytes(resources, direction, { ...cut, part: "all", height, width });
    yield { ...cut, deviceBytes: bytes, hostBytes: 0 };
  }
  const { strips, reach, outer } = resources.model.parts[direction];
  for (const cut of outer ? CUTS.filter(({ latentsPerRun }) => latentsPerRun === 1) : []) {
    const { deviceBytes, hostBytes, shared } = await turnBytes(resources, direction, { ...cut, height, width });
    const choice = { ...cut, latentsPerTurn: LATENTS_PER_TURN, hostBytes };
    // Whether both parts stay loaded follows from what may be taken.
    if (worksBesideHost(resources.device)) yield { ...choice, deviceBytes: shared.deviceBytes };
    yield { ...choice, deviceBytes };
  }
  if (!strips) return;
  const smallest = CUTS[CUTS.length - 1]!;
  const inner = await sessionBytes(resources, direction, { ...smallest, part: "rest", height, width });
  for (const rows of STRIP_ROWS) {
    const stripHeight = rows + 2 * reach;
    if (stripHeight >= height) continue;
    const shape: PieceShape = { ...smallest, framesAtOnce: ALL_FRAMES, part: "strips", height: stripHeight, width };
    const outer = await sessionBytes(resources, direction, shape);
    const hostBytes = stripsOf(height, stripHeight, reach).length * outer.kept;
    yield { ...smallest, stripHeight, deviceBytes: inner.bytes + outer.bytes, hostBytes };
  }
}

const REQUEST: OptionKinds = { height: "any", width: "any", maxBytes: "any", signal: "signal" };

/**
 * Checks what a plan is asked for.
 *
 * @throws VdError `shape` for pictures that no clip can have, `attr`
 */
export function checkRequest(request: PlanRequest, factor: number): void {
  checkCallOptions("plan", request, REQUEST);
  const { height, width, maxBytes } = request;
  for (const [name, side] of Object.entries({ height, width }))
    if (!(Number.isInteger(side) && side >= factor && side <= MAX_SIDE && side % factor === 0))
      throw new VdError({
        code: "shape",
        where: `plan] [${name}`,
        expected: `a multiple of ${factor} of at most ${MAX_SIDE}`,
        got: String(side),
      });
  if (maxBytes !== undefined && !(typeof maxBytes === "number" && maxBytes > 0))
    throw new VdError({ code: "attr", where: "plan] [maxBytes", expected: "a positive number", got: String(maxBytes) });
}

const isCount = (value: unknown, least = 1): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= least && value <= ALL_FRAMES;

/**
 * Checks how a caller wants the work cut: pieces without latents would never end.
 *
 * @throws VdError `attr`
 */
export function checkStreamPlan(
  plan: StreamPlan,
  { direction, resources }: { direction: Direction; resources: Pick<Resources, "model"> },
): void {
  const fail = (name: string, expected: string, got: unknown): never => {
    const hint = `Give \`${direction}\` of what plan(…) returns.`;
    throw new VdError({ code: "attr", where: `${direction}] [${name}`, expected, got: String(got), hint });
  };
  if (typeof plan !== "object" || plan === null) fail("plan", "an object", plan);
  for (const name of ["latentsPerRun", "framesAtOnce"] as const)
    if (!isCount(plan[name])) fail(`plan.${name}`, `a whole number from 1 to ${ALL_FRAMES}`, plan[name]);
  const least = 2 * resources.model.parts[direction].reach + 1;
  if (plan.stripHeight !== undefined && !isCount(plan.stripHeight, least))
    fail("plan.stripHeight", `none, or a whole number from ${least} to ${ALL_FRAMES}`, plan.stripHeight);
  if (plan.latentsPerTurn === undefined) return;
  if (plan.stripHeight !== undefined || !isCount(plan.latentsPerTurn))
    fail(
      "plan.latentsPerTurn",
      `none, or a whole number from 1 to ${ALL_FRAMES} and no stripHeight`,
      plan.latentsPerTurn,
    );
}

/**
 * Finds the fastest way to cut one direction's work that stays within the memory. idleHostBytes: host memory that is taken and serves the
 * plan.
 *
 * @throws VdError `memory` if there is none, `shape`, `attr`, `cancelled`
 */
export async function planDirection(
  direction: Direction,
  resources: Resources,
  { idleHostBytes = 0, ...request }: PlanRequest & { idleHostBytes?: number },
): Promise<StreamPlan> {
  const factor = pictureFactor(resources.model.config);
  checkRequest(request, factor);
  const [height, width] = [request.height / factor, request.width / factor];
  const { device } = resources;
  const most = request.maxBytes ?? (await spareBytes(device));
  const mostOfHost = device.kind === "cpu" ? Number.POSITIVE_INFINITY : spareHostBytes() + idleHostBytes;
  let least = Number.POSITIVE_INFINITY;
  let leastOfHost = Number.POSITIVE_INFINITY;
  for await (const { deviceBytes, ...choice } of choices(resources, direction, height, width)) {
    throwIfAborted(request.signal, "plan");
    const bytes = deviceBytes + (device.kind === "cpu" ? choice.hostBytes : 0);
    if (choice.hostBytes > mostOfHost) {
      if (bytes <= most) leastOfHost = Math.min(leastOfHost, choice.hostBytes);
      continue;
    }
    least = Math.min(least, bytes);
    if (bytes <= most) return { ...choice, bytes };
  }
  const hint = Number.isFinite(leastOfHost)
    ? `With ${inBinaryUnits(leastOfHost)} of the machine's memory, of which ${inBinaryUnits(mostOfHost)} are left, it would fit.`
    : "Take smaller frames or raise maxBytes.";
  throw new VdError({
    ...{
      code: "memory",
      where: direction,
      expected: `${inBinaryUnits(least)} or more for frames of ${request.width} × ${request.height}`,
    },
    ...{ got: inBinaryUnits(most), hint },
  });
}
