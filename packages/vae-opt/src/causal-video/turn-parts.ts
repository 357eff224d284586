import { isDeepStrictEqual } from "node:util";
import type { Device, DeviceBuffer } from "@vd/kernels-native";
import { type Plan, packedBytes } from "@vd/tensor";
import { HostFrames } from "../host-frames";
import { worksBesideHost } from "./beside-host";
import { bytesBetweenTurns, type Direction, type PieceShape, type Resources, TURN_PARTS } from "./piece-layout";
import { type TurnBytes, turnBytes } from "./planning";
import { type LentMemory, Session } from "./session";

/** Shape of pieces that run in turns. */
export type TurnShape = Omit<PieceShape, "part">;

/** Values of a piece in host memory, all of which has the size of the usual piece, so that it serves any. */
export interface PassingValues {
  values: DeviceBuffer;
  bytes: number;
}

/** Copies values to a plan's inputs, one behind the other. */
export async function copyToInputs(plan: Plan, values: DeviceBuffer): Promise<void> {
  let from = 0;
  for (const [name, { dims, dtype }] of plan.layout.graph.inputs) {
    const bytes = packedBytes(dims, dtype);
    await plan.copyIn(name, values, { from, to: 0, bytes });
    from += bytes;
  }
}

/** One block on the device through which pieces' values pass on their way to or from host memory, while the next piece runs. */
class Passage {
  private block: DeviceBuffer | undefined;
  private underWay: Promise<void> = Promise.resolve();

  constructor(
    private readonly resources: Resources,
    /** Of the usual piece's values. */
    readonly bytes: number,
  ) {}

  /** Bytes of the block, once there is one. */
  get bytesTaken(): number {
    return this.block ? this.bytes : 0;
  }

  /** Sends a plan's result to host memory, once what was sent before is there. */
  async send(plan: Plan, { values, bytes }: PassingValues): Promise<void> {
    await this.underWay;
    const block = await this.opened();
    await plan.copyOut("y", block, { from: 0, to: 0, bytes });
    this.start(values.copyFrom(block, 0, 0, bytes));
  }

  /** Begins to fetch what {@link receive} takes next, once what was sent before is in host memory. */
  async fetch({ values, bytes }: PassingValues): Promise<void> {
    const block = await this.opened();
    this.start(this.underWay.then(() => block.copyFrom(values, 0, 0, bytes)));
  }

  /** Puts what was fetched into a plan's inputs. */
  async receive(plan: Plan): Promise<void> {
    await this.underWay;
    await copyToInputs(plan, await this.opened());
  }

  /** Waits until everything has arrived. */
  arrived(): Promise<void> {
    return this.underWay;
  }

  /** Waits until nothing is under way, whatever became of it. */
  async settle(): Promise<void> {
    await this.underWay.catch(() => undefined); // Whoever waits for it hears of the error.
    this.underWay = Promise.resolve();
  }

  /** Frees the block; a copy that is under way ends first. */
  async free(): Promise<void> {
    await this.settle();
    const { block } = this;
    this.block = undefined;
    await block?.free();
  }

  private start(copy: Promise<void>): void {
    this.underWay = copy;
    copy.catch(() => undefined); // It may fail before somebody waits for it.
  }

  private async opened(): Promise<DeviceBuffer> {
    this.block ??= await this.resources.device.allocate(this.bytes);
    return this.block;
  }
}

/** Host memory of turns, which a call leaves to the next one. */
export class TurnHostMemory {
  /** For what lies between the turns. */
  readonly between: HostFrames;
  /** For what the part whose turn it is not keeps from piece to piece. */
  readonly kept: HostFrames;

  constructor(device: Device) {
    this.between = new HostFrames(device);
    this.kept = new HostFrames(device);
  }

  /** Bytes that nobody uses. */
  get bytesWaiting(): number {
    return this.between.bytesWaiting + this.kept.bytesWaiting;
  }

  /** Frees what nobody uses. */
  async free(): Promise<void> {
    await this.between.free();
    await this.kept.free();
  }
}

/** What {@link TurnParts} are made for. */
interface TurnPartsOptions {
  shape: TurnShape;
  /** Bytes that may be taken of the device, with all weights. */
  budget: number;
  /** Host memory for all that is not on the device. */
  host: TurnHostMemory;
}

/** Whether the plans of both parts stay loaded: on the CPU they are loaded at once, and what is idle would take the host's memory. */
const fits = ({ device }: Resources, { deviceBytes }: TurnBytes["shared"], budget: number): boolean =>
  worksBesideHost(device) && deviceBytes <= budget;

/**
 * Both parts of the model that run in turns, in the order of computation. Where the budget has room for the plans of both, these lie in one
 * memory and stay loaded, also from call to call; else the part whose turn it is not has nothing but weights on the device.
 */
export class TurnParts {
  readonly passage: Passage;
  private memory: LentMemory | undefined;

  private constructor(
    private readonly resources: Resources,
    direction: Direction,
    readonly shape: TurnShape,
    readonly host: TurnHostMemory,
    private readonly parts: readonly [Session, Session],
    private readonly shared: TurnBytes["shared"],
    private readonly staysLoaded: boolean,
  ) {
    const usual = { latents: shape.latentsPerRun, begins: false };
    this.passage = new Passage(resources, bytesBetweenTurns(resources, direction, shape, usual));
  }

  /** Makes the parts without memory. */
  static async prepare(
    resources: Resources,
    direction: Direction,
    { shape, budget, host }: TurnPartsOptions,
  ): Promise<TurnParts> {
    const { shared, framesAtOnce } = await turnBytes(resources, direction, shape);
    const prepare = (number: 0 | 1) => {
      const part = TURN_PARTS[direction][number];
      return Session.prepare(resources, direction, { ...shape, part, framesAtOnce: framesAtOnce[number] }, host.kept);
    };
    const parts = [await prepare(0), await prepare(1)] as const;
    const staysLoaded = fits(resources, shared, budget);
    return new TurnParts(resources, direction, shape, host, parts, shared, staysLoaded);
  }

  /** Whether they are what {@link prepare} would make. */
  serves(shape: TurnShape, budget: number): boolean {
    const staysLoaded = fits(this.resources, this.shared, budget);
    return isDeepStrictEqual(shape, this.shape) && staysLoaded === this.staysLoaded;
  }

  /** Bytes that are taken of the device now, without weights, while no turn is under way. */
  get bytes(): number {
    const lent = this.memory ? this.memory.kept.bytes + this.memory.arena.bytes : 0;
    return lent + this.passage.bytesTaken + this.parts.reduce((sum, { ownBytes }) => sum + ownBytes, 0);
  }

  /**
   * The part with that number, on the device with what it kept. keeps: what the other one keeps from piece to piece is needed again.
   *
   * @throws VdError `memory`, `driver`
   */
  async enter(number: 0 | 1, { keeps }: { keeps: boolean }): Promise<Session> {
    const session = this.parts[number];
    await this.parts[1 - number]!.leaveDevice({ keeps });
    await session.returnToDevice(await this.lent());
    return session;
  }

  /** Ends a clip: nothing that was kept is needed again, and what stays loaded waits for the next clip. */
  async rest(): Promise<void> {
    await this.passage.settle();
    for (const session of this.parts) await session.leaveDevice({ keeps: false });
    if (!this.staysLoaded) await this.passage.free();
  }

  /** Frees all memory of the device; the next turn takes it anew. */
  async free(): Promise<void> {
    await this.passage.free();
    for (const session of this.parts) await session.free();
    const { memory } = this;
    this.memory = undefined;
    await memory?.kept.free();
    await memory?.arena.free();
  }

  private async lent(): Promise<LentMemory | undefined> {
    if (!this.staysLoaded || this.memory) return this.memory;
    const { device } = this.resources;
    const kept = await device.allocate(this.shared.keptBytes);
    try {
      this.memory = { kept, arena: await device.allocate(this.shared.arenaBytes) };
    } catch (error) {
      await kept.free();
      throw error;
    }
    return this.memory;
  }
}
