import { type DeviceBuffer, throwIfAborted } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import { HostFrames } from "../host-frames";
import { type Clip, checkResult } from "./clip";
import type { ClipPiece } from "./picture-session";
import { type OnTheWay, type PieceRun, resultsOf } from "./readback";
import {
  bytesBetweenTurns,
  type DirectionSessions,
  type PieceShape,
  resultDims,
  type Session,
  TURN_PARTS,
} from "./session";

/** What the first part has made of a piece, in host memory. */
interface Between {
  piece: ClipPiece;
  values: DeviceBuffer;
}

/** How a turn ends. */
export interface TurnOptions {
  /** Whether the clip ends with it, so that nothing must be kept. */
  ends: boolean;
  signal?: AbortSignal | undefined;
}

/** Waits for all, and throws the first error. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  for (const ended of await Promise.allSettled(work)) if (ended.status === "rejected") throw ended.reason;
}

async function runWith(plan: Plan, x: Float32Array, signal: AbortSignal | undefined): Promise<void> {
  await plan.write("x", x);
  await plan.run({ signal });
}

/** One block on the device through which pieces' values pass on their way to or from host memory, while the next piece runs. */
class Passage {
  private block: DeviceBuffer | undefined;
  private underWay: Promise<void> = Promise.resolve();

  constructor(
    private readonly session: Session,
    private readonly bytes: number,
  ) {}

  /** Sends a plan's result to host memory, once what was sent before is there. */
  async send(plan: Plan, target: DeviceBuffer): Promise<void> {
    await this.underWay;
    const [block, { bytes }] = [await this.opened(), target];
    await plan.copyOut("y", block, { from: 0, to: 0, bytes });
    this.start(target.copyFrom(block, 0, 0, bytes));
  }

  /** Begins to fetch what {@link receive} takes next. */
  async fetch(source: DeviceBuffer): Promise<void> {
    const block = await this.opened();
    this.start(block.copyFrom(source, 0, 0, source.bytes));
  }

  /** Puts what was fetched into a plan's input. */
  async receive(plan: Plan, bytes: number): Promise<void> {
    await this.underWay;
    await plan.copyIn("x", await this.opened(), { from: 0, to: 0, bytes });
  }

  /** Waits until everything has arrived. */
  arrived(): Promise<void> {
    return this.underWay;
  }

  /** Frees the block; a copy that is under way ends first. */
  async free(): Promise<void> {
    await this.underWay.catch(() => undefined); // Whoever waits for it hears of the error.
    const { block } = this;
    this.block = undefined;
    await block?.free();
  }

  private start(copy: Promise<void>): void {
    this.underWay = copy;
    copy.catch(() => undefined); // It may fail before somebody waits for it.
  }

  private async opened(): Promise<DeviceBuffer> {
    this.block ??= await this.session.resources.device.allocate(this.bytes);
    return this.block;
  }
}

/**
 * Runs the two parts of the model in turns: one over many latents, piece by piece, with its results in host memory, then the other over
 * those. The part whose turn it is not has nothing but weights on the device; what it keeps from piece to piece lies in host memory
 * meanwhile. Pieces are those of the whole model, so results are too, to the bit.
 */
export class TurnSession {
  /** Both parts, in the order of computation; opened with their first turn. */
  private readonly parts: (Session | undefined)[] = [undefined, undefined];
  private readonly between: HostFrames;

  /** shape: of pieces; its part is not looked at. */
  constructor(
    private readonly sessions: DirectionSessions,
    private readonly shape: PieceShape,
  ) {
    this.between = new HostFrames(sessions.resources.device);
  }

  /** Bytes of host memory that a latent takes between the turns. */
  get bytesPerLatent(): number {
    return this.bytesBetween({ latents: 1, begins: false });
  }

  /**
   * Runs one turn of both parts and yields the pieces' results.
   *
   * @throws VdError `cancelled`, `memory`, `attr` once the autoencoder is closed
   */
  async *run(pieces: readonly ClipPiece[], options: TurnOptions): AsyncGenerator<Clip, void, void> {
    const made: Between[] = [];
    try {
      await this.runFirst(pieces, options, made);
      yield* this.runSecond(made, options);
    } finally {
      for (const { values } of made) this.between.giveBack(values);
    }
  }

  /** Lets go of all memory. */
  async free(): Promise<void> {
    for (const session of this.parts) if (session) await this.sessions.releaseAlone(session);
    this.parts.fill(undefined);
    await this.between.free();
  }

  private async runFirst(pieces: readonly ClipPiece[], { ends, signal }: TurnOptions, made: Between[]): Promise<void> {
    await this.parts[1]?.leaveDevice({ keeps: true });
    const session = await this.enter(0);
    const passage = new Passage(session, this.largest(pieces));
    try {
      for (const piece of pieces) {
        this.sessions.checkOpen();
        const plan = await session.planOf(piece.latents, piece.begins);
        await allOf([this.makeRoom(piece, made), runWith(plan, piece.x.values, signal)]);
        await passage.send(plan, made.at(-1)!.values);
      }
      await passage.arrived();
    } finally {
      await passage.free();
    }
    await session.leaveDevice({ keeps: !ends });
  }

  private async *runSecond(made: Between[], { signal }: TurnOptions): AsyncGenerator<Clip, void, void> {
    const { sessions } = this;
    const session = await this.enter(1);
    const passage = new Passage(session, this.largest(made.map(({ piece }) => piece)));
    const checkGoesOn = () => {
      throwIfAborted(signal, sessions.direction);
      sessions.checkOpen();
    };
    try {
      await passage.fetch(made[0]!.values);
      const runs = this.secondRuns(session, passage, made);
      yield* resultsOf(runs, { overlaps: sessions.overlaps, signal, checkGoesOn });
    } finally {
      await passage.free();
    }
  }

  private *secondRuns(session: Session, passage: Passage, made: Between[]): Generator<PieceRun, void, void> {
    const pieces = [...made];
    for (const [i, { piece, values }] of pieces.entries()) {
      const next = pieces[i + 1];
      yield async (signal) => {
        this.sessions.checkOpen();
        const plan = await session.planOf(piece.latents, piece.begins);
        await passage.receive(plan, values.bytes);
        if (next) await passage.fetch(next.values);
        this.between.giveBack(made.shift()!.values);
        await plan.run({ signal });
        return this.resultOf(session, plan, piece);
      };
    }
  }

  private async resultOf(session: Session, plan: Plan, piece: ClipPiece): Promise<OnTheWay<Clip>> {
    const { direction, resources } = this.sessions;
    const dims = resultDims(resources, direction, session.shape, piece);
    const { result } = await session.beginRead(plan);
    return { result: result.then((read) => ({ values: checkResult(read, direction, { ...piece, dims }), dims })) };
  }

  /** Takes host memory for what the first part makes of a piece. */
  private async makeRoom(piece: ClipPiece, made: Between[]): Promise<void> {
    made.push({ piece, values: await this.between.take(this.bytesBetween(piece)) });
  }

  /** The part with that number, on the device. */
  private async enter(number: 0 | 1): Promise<Session> {
    const { direction } = this.sessions;
    const session = this.parts[number];
    if (session) await session.returnToDevice();
    else this.parts[number] = await this.sessions.acquireAlone({ ...this.shape, part: TURN_PARTS[direction][number] });
    return this.parts[number]!;
  }

  private bytesBetween({ latents, begins }: Pick<ClipPiece, "latents" | "begins">): number {
    const { direction, resources } = this.sessions;
    return bytesBetweenTurns(resources, direction, this.shape, { latents, begins });
  }

  private largest(pieces: readonly ClipPiece[]): number {
    return Math.max(...pieces.map((piece) => this.bytesBetween(piece)));
  }
}
