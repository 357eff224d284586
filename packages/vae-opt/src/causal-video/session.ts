import { type Device, type DType, VdError } from "@vd/kernels-native";
import {
  type Graph,
  type GraphLayout,
  layoutGraph,
  type Pausable,
  Plan,
  runInSlices,
  type Tensor,
  tokens,
} from "@vd/tensor";
import { frameFactor, pictureFactor } from "./config";
import { StreamMemory } from "./frame-memory";
import type { CausalVideoVae } from "./model";

/** Which way a clip goes. */
export type Direction = "encode" | "decode";

/** What both directions share. */
export interface Resources {
  model: CausalVideoVae;
  device: Device;
  /** Of activations. */
  dtype: DType;
}

/** Shape of the pieces that a session runs. */
export interface PieceShape {
  /** Of latents: the whole picture's or a tile's. */
  height: number;
  width: number;
  /** Latents of a piece; the clip's first one is a piece of its own. */
  latentsPerRun: number;
  framesAtOnce: number;
}

/** Type of a plan's input: what callers give. */
const INPUT_TYPE = "f32";

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

function inputDims(resources: Resources, direction: Direction, shape: PieceShape, latents: number, begins: boolean) {
  const { config } = resources.model;
  const factor = direction === "encode" ? pictureFactor(config) : 1;
  const channels = direction === "encode" ? config.inChannels : config.latentChannels;
  const frames = inputFrames(resources, direction, latents, begins);
  return [1, frames, shape.height * factor, shape.width * factor, channels];
}

/** The input in the type that layers compute in. */
function converted(g: Graph, x: Tensor): Tensor {
  if (x.dtype === g.dtype) return x;
  const y = g.empty(x.dims);
  g.copy({ name: "input", x: tokens(x), out: tokens(y) });
  return y;
}

/** Lays out the plan of a piece with so many latents. */
export function layoutPiece(
  resources: Resources,
  direction: Direction,
  shape: PieceShape,
  { latents, begins, stream }: { latents: number; begins: boolean; stream: StreamMemory },
): Promise<GraphLayout> {
  const { model, dtype } = resources;
  const dims = inputDims(resources, direction, shape, latents, begins);
  const record = function* (g: Graph): Pausable<void> {
    const x = converted(g, g.input("x", dims, INPUT_TYPE));
    const piece = { begins, ends: false, memory: stream.memory };
    g.output("y", yield* model[direction].inPieces(g, x, { framesAtOnce: shape.framesAtOnce, piece }));
  };
  return runInSlices(layoutGraph.inPieces(record, { dtype }));
}

/** How many plans a session keeps loaded: that of the pieces in a clip's middle, and one of another length. */
const MOST_PLANS = 2;

/** The plans of one stream's pieces, and the frames that are kept from piece to piece. */
export class Session {
  private readonly plans = new Map<string, Plan>();

  private constructor(
    private readonly resources: Resources,
    private readonly direction: Direction,
    readonly shape: PieceShape,
    readonly stream: StreamMemory,
  ) {}

  /**
   * Allocates what is kept from piece to piece.
   *
   * @throws VdError `memory`
   */
  static async open(resources: Resources, direction: Direction, shape: PieceShape): Promise<Session> {
    const stream = new StreamMemory();
    await layoutPiece(resources, direction, shape, { latents: 1, begins: true, stream });
    await resources.device.prepare();
    await stream.allocate(resources.device);
    return new Session(resources, direction, shape, stream);
  }

  /**
   * Runs one piece, the clip's first one or what follows the piece before. x: the input's values → the result's.
   *
   * @throws VdError `memory`, `cancelled`
   */
  async run(x: Float32Array, latents: number, begins: boolean, signal?: AbortSignal): Promise<Float32Array> {
    const plan = await this.planOf(latents, begins);
    await plan.write("x", x);
    await plan.run({ signal });
    return plan.read("y");
  }

  /** Bytes that the loaded plans take on the device, without weights. */
  get bytes(): number {
    let bytes = this.stream.bytes;
    for (const { memory } of this.plans.values()) bytes += memory.ioBytes + memory.arenaBytes;
    return bytes;
  }

  async free(): Promise<void> {
    for (const plan of this.plans.values()) await plan.free();
    this.plans.clear();
    await this.stream.free();
  }

  private async planOf(latents: number, begins: boolean): Promise<Plan> {
    const { direction, resources, shape, stream } = this;
    const key = `${latents}${begins ? " first" : ""}`;
    const known = this.plans.get(key);
    if (known) return known;
    const usual = String(shape.latentsPerRun);
    const others = [...this.plans.keys()].filter((name) => name !== usual);
    if (this.plans.size >= MOST_PLANS || (others.length > 0 && key !== usual)) await this.unload(others[0]!);
    const layout = await layoutPiece(resources, direction, shape, { latents, begins, stream });
    const plan = await Plan.load(resources.device, layout, { name: `${direction} ${key}` });
    this.plans.set(key, plan);
    return plan;
  }

  private async unload(key: string): Promise<void> {
    await this.plans.get(key)?.free();
    this.plans.delete(key);
  }
}

/** The sessions of one direction: the last one is kept for the next stream. */
export class DirectionSessions {
  private idle: Session | undefined;

  constructor(
    readonly direction: Direction,
    readonly resources: Resources & { isClosed(): boolean },
  ) {}

  /** A session that nobody else uses. */
  async acquire(shape: PieceShape): Promise<Session> {
    this.checkOpen();
    const { idle } = this;
    this.idle = undefined;
    if (idle && JSON.stringify(idle.shape) === JSON.stringify(shape)) return idle;
    await idle?.free();
    return Session.open(this.resources, this.direction, shape);
  }

  /** Gives a session back. */
  async release(session: Session): Promise<void> {
    if (this.idle || this.resources.isClosed()) await session.free();
    else this.idle = session;
  }

  /** @throws VdError `attr` once the autoencoder is closed */
  checkOpen(): void {
    if (this.resources.isClosed())
      throw new VdError({ code: "attr", where: this.direction, expected: "an open autoencoder", got: "a closed one" });
  }

  async free(): Promise<void> {
    const { idle } = this;
    this.idle = undefined;
    await idle?.free();
  }
}
