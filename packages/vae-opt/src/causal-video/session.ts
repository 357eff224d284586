import type { DeviceBuffer, FloatsRead } from "@vd/kernels-native";
import { type GraphLayout, Plan } from "@vd/tensor";
import { HostFrames } from "../host-frames";
import { type Clip, type ClipRule, checkLargest } from "./clip";
import { StreamMemory } from "./frame-memory";
import { Inputs } from "./inputs";
import { statisticsFor } from "./norm-statistics";
import {
  type Direction,
  inputBytes,
  layoutPiece,
  type PieceShape,
  type Resources,
  readbackBytes,
} from "./piece-layout";
import { type OnTheWay, Readback } from "./readback";

/** The name of a piece's plan. */
const keyOf = (latents: number, begins: boolean): string => `${latents}${begins ? " first" : ""}`;

/** How many plans a session keeps loaded: that of the pieces in a clip's middle, and one of another length. */
const MOST_PLANS = 2;

/** What a piece takes. */
export interface InputOfPiece {
  x: Clip;
  latents: number;
  begins: boolean;
  /** What values must be like, where nobody has looked at them: that is done on their way to the device. */
  unchecked?: ClipRule | undefined;
  /** Where the result goes; default: a new array. */
  into?: Float32Array | undefined;
  /** What runs next, if it is there: it goes to the device meanwhile. */
  next?: Pick<InputOfPiece, "x"> | undefined;
}

/** Memory that sessions share of which one at a time is on the device. */
export interface LentMemory {
  /** For what is kept from piece to piece. */
  kept: DeviceBuffer;
  /** For what lies between layers. */
  arena: DeviceBuffer;
}

/** The plans of one stream's pieces, and the frames that are kept from piece to piece. */
export class Session {
  private readonly plans = new Map<string, Plan>();
  /** Where plans keep what lies between layers: they run one after the other. */
  private arena: DeviceBuffer | undefined;
  /** What is kept from piece to piece, where that is not on the device. */
  private away: DeviceBuffer | undefined;

  private readonly layouts = new Map<string, Promise<GraphLayout>>();
  /** Bytes of the usual plans' arena. */
  private usualArena = 0;
  private readonly inputs: Inputs | undefined;
  private readonly readback: Readback | undefined;

  readonly stream = new StreamMemory();
  private isOnDevice = false;
  /** Memory that is not the session's own. */
  private lent: LentMemory | undefined;

  private constructor(
    readonly resources: Resources,
    readonly direction: Direction,
    readonly shape: PieceShape,
    /** Where frames lie that are kept while the session is not on the device. */
    private readonly host: HostFrames,
  ) {
    const [taken, given] = [inputBytes, readbackBytes].map((bytesOf) => bytesOf(resources, direction, shape));
    if (taken) this.inputs = new Inputs(resources.device, taken);
    if (given) this.readback = new Readback(resources.device, given);
  }

  /**
   * Makes a session that is on the device.
   *
   * @throws VdError `memory`
   */
  static async open(resources: Resources, direction: Direction, shape: PieceShape): Promise<Session> {
    const session = await Session.prepare(resources, direction, shape, new HostFrames(resources.device));
    await session.returnToDevice();
    return session;
  }

  /** Makes a session without memory, which knows its usual layouts. host: takes what is kept while it is not on the device. */
  static async prepare(
    resources: Resources,
    direction: Direction,
    shape: PieceShape,
    host: HostFrames,
  ): Promise<Session> {
    const session = new Session(resources, direction, shape, host);
    for (const [latents, begins] of [
      [1, true],
      [shape.latentsPerRun, false],
    ] as const) {
      const { arenaBytes } = (await session.layoutOf(latents, begins)).memory;
      session.usualArena = Math.max(session.usualArena, arenaBytes);
    }
    await resources.device.prepare();
    return session;
  }

  /**
   * Runs one piece, the clip's first one or what follows the piece before, and resolves once the next one may run → its result.
   *
   * @throws VdError `memory`, `cancelled`, `attr` for unchecked values that are not finite or out of range
   */
  async start(input: InputOfPiece, signal?: AbortSignal): Promise<OnTheWay<FloatsRead>> {
    return this.beginRead(await this.compute(input, signal), input.into);
  }

  /**
   * Runs one piece, while the next one's input goes to the device, and returns its plan.
   *
   * @throws VdError as {@link start}
   */
  async compute({ x, latents, begins, unchecked, next }: InputOfPiece, signal?: AbortSignal): Promise<Plan> {
    const plan = await this.planOf(latents, begins);
    const largest = await (this.inputs ? this.inputs.put(plan, "x", x.values) : plan.writeChecked("x", x.values));
    if (unchecked) checkLargest(largest, unchecked);
    const ran = plan.run({ signal });
    if (next) this.inputs?.send(next.x.values);
    try {
      await ran;
    } finally {
      await this.inputs?.settle(); // The caller's array may change then.
    }
    return plan;
  }

  /**
   * Begins to read a plan's result, and resolves once the next one may run. into: where it goes; default: a new array.
   *
   * @throws VdError `memory`
   */
  async beginRead(plan: Plan, into?: Float32Array): Promise<OnTheWay<FloatsRead>> {
    if (this.readback) return this.readback.begin(plan, "y", into);
    const read = await plan.readChecked("y", into);
    return { result: Promise.resolve(read) };
  }

  /** Bytes that the loaded plans take on the device, without weights. */
  get bytes(): number {
    return this.stream.bytes + (this.arena?.bytes ?? 0) + this.ownBytes;
  }

  /** Of these, what is the session's own in any case. */
  get ownBytes(): number {
    let bytes = (this.inputs?.bytesTaken ?? 0) + (this.readback?.bytesTaken ?? 0);
    for (const { memory } of this.plans.values()) bytes += memory.ioBytes;
    return bytes;
  }

  /** Lets go of all memory. */
  async free(): Promise<void> {
    await this.leaveDevice({ keeps: false });
    await this.freeMemory();
  }

  /**
   * Lets go of the memory of the device, but for weights, and for plans in memory that is lent. keeps: what is kept from piece to
   * piece goes to host memory until {@link returnToDevice}; else it is lost.
   *
   * @throws VdError `memory`, `driver`
   */
  async leaveDevice({ keeps }: { keeps: boolean }): Promise<void> {
    if (this.isOnDevice && keeps) {
      this.away ??= await this.host.take(this.stream.bytes);
      await this.away.copyFrom(this.stream.buffer, 0, 0, this.stream.bytes);
    }
    this.isOnDevice = false;
    if (!this.lent) await this.freeMemory();
    if (keeps || !this.away) return;
    this.host.giveBack(this.away);
    this.away = undefined;
  }

  /**
   * Allocates what is kept from piece to piece, unless it is lent, and brings back what lies in host memory. lent: the same each time,
   * until {@link free}.
   *
   * @throws VdError `memory`, `driver`
   */
  async returnToDevice(lent?: LentMemory): Promise<void> {
    this.lent = lent;
    if (lent) this.stream.lieIn(lent.kept);
    else await this.stream.allocate(this.resources.device);
    this.isOnDevice = true;
    if (this.away) await this.stream.buffer.copyFrom(this.away, 0, 0, this.stream.bytes);
  }

  /**
   * The plan of a piece, for callers that write and read more of it.
   *
   * @throws VdError `memory`
   */
  async planOf(latents: number, begins: boolean): Promise<Plan> {
    const { direction, resources, shape } = this;
    const key = keyOf(latents, begins);
    const known = this.plans.get(key);
    if (known) return known;
    const usual = String(shape.latentsPerRun);
    const others = [...this.plans.keys()].filter((name) => name !== usual);
    if (this.plans.size >= MOST_PLANS || (others.length > 0 && key !== usual)) await this.unload(others[0]!);
    const layout = await this.layoutOf(latents, begins);
    const arena = await this.arenaOf(layout.memory.arenaBytes);
    const options = { batchInvariant: true, name: `${direction} ${key}`, arena };
    const plan = await Plan.load(resources.device, layout, options);
    this.plans.set(key, plan);
    return plan;
  }

  /** The layout of a piece, made once: a session that returns to the device needs it again. */
  private layoutOf(latents: number, begins: boolean): Promise<GraphLayout> {
    const { resources, direction, shape, stream } = this;
    const key = keyOf(latents, begins);
    const known = this.layouts.get(key);
    if (known) return known;
    const piece = { latents, begins, stream, statistics: statisticsFor(shape) };
    const layout = layoutPiece(resources, direction, shape, piece);
    this.layouts.set(key, layout);
    return layout;
  }

  /** The arena, of `bytes` at least. A larger one takes the place of the one before, and of the plans in it. */
  private async arenaOf(bytes: number): Promise<DeviceBuffer> {
    if (this.lent) return this.lent.arena;
    if (this.arena && this.arena.bytes >= bytes) return this.arena;
    await this.freeArena();
    this.arena = await this.resources.device.allocate(Math.max(bytes, this.usualArena, 1));
    return this.arena;
  }

  private async freeMemory(): Promise<void> {
    await this.inputs?.free();
    await this.readback?.free();
    await this.freeArena();
    await this.stream.free();
    this.lent = undefined;
  }

  private async freeArena(): Promise<void> {
    for (const plan of this.plans.values()) await plan.free();
    this.plans.clear();
    const { arena } = this;
    this.arena = undefined;
    await arena?.free();
  }

  private async unload(key: string): Promise<void> {
    await this.plans.get(key)?.free();
    this.plans.delete(key);
  }
}
