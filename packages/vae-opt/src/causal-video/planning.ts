import { freemem } from "node:os";
import { type Device, VdError } from "@vd/kernels-native";
import { pictureFactor } from "./config";
import { StreamMemory } from "./frame-memory";
import { type Direction, layoutPiece, type PieceShape, type Resources } from "./session";
import { type TileSize, tileStarts } from "./tiles";

/** How one direction's work is cut. */
export interface StreamPlan {
  /** Latents of a piece that runs at once; the clip's first one is a piece of its own. */
  latentsPerRun: number;
  /** Frames that layers compute at a time within a piece. */
  framesAtOnce: number;
  /** Tiles of the picture; undefined: the whole picture, whose results have no seams at all. */
  tiles?: TileSize | undefined;
  /** Bytes on the device at most, weights included: for a clip of any length. */
  bytes: number;
  /** Bytes of the host's memory that tiles keep between pieces. */
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

/** Sides of tiles, in latents, from large to small. */
const TILE_SIDES = [96, 64, 48, 32, 24, 16];
/** The overlap as a part of the side. */
const OVERLAP_SHARE = 0.25;

/** Part of a device's free memory that is left for others. */
const SPARE = 0.1;

async function spareBytes(device: Device): Promise<number> {
  if (device.kind === "cpu") return (1 - SPARE) * freemem();
  const { freeBytes, residentBytes } = await device.memory();
  return (1 - SPARE) * (freeBytes + residentBytes);
}

/** Bytes that a session takes: what is kept, the plan of the middle pieces and the largest other one, and the weights. */
async function sessionBytes(
  resources: Resources,
  direction: Direction,
  shape: PieceShape,
): Promise<{ bytes: number; kept: number }> {
  const stream = new StreamMemory();
  const layoutOf = async (latents: number, begins: boolean) =>
    (await layoutPiece(resources, direction, shape, { latents, begins, stream })).memory;
  const middle = await layoutOf(shape.latentsPerRun, false);
  const others = [await layoutOf(1, true)];
  if (shape.latentsPerRun > 1) others.push(await layoutOf(shape.latentsPerRun - 1, false));
  const own = ({ ioBytes, arenaBytes }: typeof middle) => ioBytes + arenaBytes;
  const bytes = stream.bytes + own(middle) + Math.max(...others.map(own)) + middle.weightBytes;
  return { bytes, kept: stream.bytes };
}

/** The ways to cut a picture of `height` × `width` latents, from fast to small. */
function* choices(height: number, width: number): Generator<{ shape: PieceShape; tiles?: TileSize }> {
  for (const cut of CUTS) yield { shape: { ...cut, height, width } };
  const smallest = CUTS[CUTS.length - 1]!;
  for (const side of TILE_SIDES) {
    if (side >= height && side >= width) continue;
    const tiles = {
      ...{ height: Math.min(side, height), width: Math.min(side, width) },
      overlap: Math.round(OVERLAP_SHARE * side),
    };
    yield { shape: { ...smallest, height: tiles.height, width: tiles.width }, tiles };
  }
}

const inMebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

function checkRequest({ height, width, maxBytes }: PlanRequest, factor: number): void {
  for (const [name, side] of Object.entries({ height, width }))
    if (!(Number.isInteger(side) && side >= factor && side % factor === 0))
      throw new VdError({
        code: "shape",
        where: `plan] [${name}`,
        expected: `a multiple of ${factor}`,
        got: String(side),
      });
  if (maxBytes !== undefined && !(maxBytes > 0))
    throw new VdError({ code: "attr", where: "plan] [maxBytes", expected: "a positive number", got: String(maxBytes) });
}

/**
 * Finds the fastest way to cut one direction's work that stays within the memory.
 *
 * @throws VdError `memory` if there is none, `shape`, `attr`, `cancelled`
 */
export async function planDirection(
  direction: Direction,
  resources: Resources,
  request: PlanRequest,
): Promise<StreamPlan> {
  const factor = pictureFactor(resources.model.config);
  checkRequest(request, factor);
  const [height, width] = [request.height / factor, request.width / factor];
  const most = request.maxBytes ?? (await spareBytes(resources.device));
  let least = Number.POSITIVE_INFINITY;
  for (const { shape, tiles } of choices(height, width)) {
    const { bytes, kept } = await sessionBytes(resources, direction, shape);
    const numTiles = tiles
      ? [height, width].reduce(
          (n, length, i) => n * tileStarts(length, [shape.height, shape.width][i]!, tiles.overlap).length,
          1,
        )
      : 0;
    const hostBytes = numTiles * kept;
    const counted = bytes + (resources.device.kind === "cpu" ? hostBytes : 0);
    least = Math.min(least, counted);
    const { latentsPerRun, framesAtOnce } = shape;
    if (counted <= most) return { latentsPerRun, framesAtOnce, tiles, bytes: counted, hostBytes };
  }
  throw new VdError({
    ...{
      code: "memory",
      where: direction,
      expected: `${inMebibytes(least)} or more for frames of ${request.width} × ${request.height}`,
    },
    ...{ got: inMebibytes(most), hint: "Take smaller frames or raise maxBytes." },
  });
}
