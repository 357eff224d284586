import { VdError } from "@vd/kernels-native";
import { worksBesideHost } from "./beside-host";
import type { Direction, PieceShape, Resources } from "./piece-layout";
import type { StreamPlan } from "./planning";
import { Session } from "./session";
import { TurnHostMemory, TurnParts, type TurnShape } from "./turn-parts";

/** What a stream takes. */
type PlannedBytes = Pick<StreamPlan, "bytes" | "hostBytes">;

/** The sessions of one direction: the last ones are kept for the next stream. */
export class DirectionSessions {
  private idle: Session[] = [];
  private idleTurns: TurnParts | undefined;
  /** Memory of turns on the host, which a call leaves to the next one with pictures of its size. */
  private readonly host: TurnHostMemory;

  constructor(
    readonly direction: Direction,
    readonly resources: Resources & {
      isClosed(): boolean;
      /** Lets go of what the other direction keeps, where both would take more than there is. */
      makeRoom?(direction: Direction, plan: PlannedBytes): Promise<void>;
    },
  ) {
    this.host = new TurnHostMemory(resources.device);
  }

  /** Bytes on the device, without weights, of the sessions that nobody uses. */
  get idleBytes(): number {
    return this.idle.reduce((sum, { bytes }) => sum + bytes, this.idleTurns?.bytes ?? 0);
  }

  /** Bytes of host memory that wait for the next call. */
  get idleHostBytes(): number {
    return this.host.bytesWaiting;
  }

  /** Makes room for a stream that takes so much, weights included. */
  async makeRoom(plan: PlannedBytes): Promise<void> {
    await this.resources.makeRoom?.(this.direction, plan);
  }

  /** A session that nobody else uses. */
  async acquire(shape: PieceShape): Promise<Session> {
    this.checkOpen();
    const known = this.idle.findIndex((session) => JSON.stringify(session.shape) === JSON.stringify(shape));
    if (known >= 0) return this.idle.splice(known, 1)[0]!;
    // Of another shape: a stream of another size begins, and memory is planned for one.
    await this.free(
      ({ shape: { part, latentsPerRun } }) => part === shape.part || latentsPerRun !== shape.latentsPerRun,
    );
    await this.freeHost();
    return Session.open(this.resources, this.direction, shape);
  }

  /**
   * Both parts of the model for turns, which nobody else uses, beside no session that is idle. budget: bytes that may be taken of the
   * device with all weights.
   */
  async acquireTurns(shape: TurnShape, budget: number): Promise<TurnParts> {
    this.checkOpen();
    const known = this.idleTurns;
    this.idleTurns = undefined;
    await this.free();
    if (known?.serves(shape, budget)) return known;
    await known?.free();
    await this.freeHost();
    return TurnParts.prepare(this.resources, this.direction, { shape, budget, host: this.host });
  }

  /** Takes back what {@link acquireTurns} gave. */
  async releaseTurns(parts: TurnParts): Promise<void> {
    await parts.rest();
    const isSecond = this.idleTurns !== undefined || this.resources.isClosed();
    if (isSecond) await parts.free();
    else this.idleTurns = parts;
    if (!this.overlaps || this.resources.isClosed()) await this.freeHost();
  }

  /** Gives a session back. */
  async release(session: Session): Promise<void> {
    const isSecond = this.idle.some(({ shape }) => shape.part === session.shape.part);
    if (isSecond || this.resources.isClosed()) await session.free();
    else this.idle.push(session);
  }

  /** Whether pieces run while results are read. */
  get overlaps(): boolean {
    return worksBesideHost(this.resources.device);
  }

  /** @throws VdError `attr` once the autoencoder is closed */
  checkOpen(): void {
    if (this.resources.isClosed())
      throw new VdError({ code: "attr", where: this.direction, expected: "an open autoencoder", got: "a closed one" });
  }

  /** Frees what nobody uses on the device, of sessions those that `which` names. */
  async free(which: (session: Session) => boolean = () => true): Promise<void> {
    const freed = this.idle.filter(which);
    this.idle = this.idle.filter((session) => !freed.includes(session));
    // Nobody takes what is being freed.
    const turns = this.idleTurns;
    this.idleTurns = undefined;
    for (const session of freed) await session.free();
    await turns?.free();
    this.idleTurns ??= turns;
  }

  /** Frees host memory that nobody uses. */
  freeHost(): Promise<void> {
    return this.host.free();
  }

  /** Frees all that nobody uses. */
  async close(): Promise<void> {
    await this.free();
    await this.freeHost();
  }
}
