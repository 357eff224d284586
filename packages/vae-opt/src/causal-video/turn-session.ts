import { throwIfAborted } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import { type Clip, checkResult } from "./clip";
import type { DirectionSessions } from "./direction-sessions";
import type { ClipPiece } from "./picture-session";
import { bytesBetweenTurns, resultDims } from "./piece-layout";
import { type OnTheWay, type PieceRun, resultsOf } from "./readback";
import type { Session } from "./session";
import { copyToInputs, type PassingValues, type TurnParts, type TurnShape } from "./turn-parts";

/** What the first part has made of a piece, in host memory. */
interface Between extends PassingValues {
  piece: ClipPiece;
}

/** How a turn ends. */
export interface TurnOptions {
  /** Whether the clip ends with it, so that nothing must be kept. */
  ends: boolean;
  signal?: AbortSignal | undefined;
}

/** Waits for all, and throws the first error. */
async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  for (const ended of await Promise.allSettled(work)) if (ended.status === "rejected") throw ended.reason;
}

/**
 * Runs the two parts of the model in turns: one over many latents, piece by piece, with its results in host memory, then the other over
 * those. What the part whose turn it is not keeps from piece to piece lies in host memory meanwhile. Pieces are those of the whole model, so
 * results are too, to the bit.
 */
export class TurnSession {
  private constructor(
    private readonly sessions: DirectionSessions,
    private readonly parts: TurnParts,
  ) {}

  /**
   * Prepares for turns. budget: bytes that may be taken of the device, with all weights.
   *
   * @throws VdError `attr` once the autoencoder is closed
   */
  static async open(sessions: DirectionSessions, shape: TurnShape, budget: number): Promise<TurnSession> {
    return new TurnSession(sessions, await sessions.acquireTurns(shape, budget));
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
      await this.parts.passage.settle();
      for (const { values } of made) this.parts.host.between.giveBack(values);
    }
  }

  /** Gives back what the turns used. */
  free(): Promise<void> {
    return this.sessions.releaseTurns(this.parts);
  }

  private async runFirst(pieces: readonly ClipPiece[], { signal }: TurnOptions, made: Between[]): Promise<void> {
    const { passage } = this.parts;
    const session = await this.parts.enter(0, { keeps: true });
    for (const [i, piece] of pieces.entries()) {
      this.sessions.checkOpen();
      const input = { ...piece, next: pieces[i + 1] };
      const computed = session.compute(input, signal);
      await allOf([this.makeRoom(piece, made), computed]);
      await passage.send(await computed, made.at(-1)!);
    }
    // The last one may arrive while the second part begins with the first one.
    if (pieces.length === 1) await passage.arrived();
  }

  private async *runSecond(made: Between[], { ends, signal }: TurnOptions): AsyncGenerator<Clip, void, void> {
    const { sessions } = this;
    const session = await this.parts.enter(1, { keeps: !ends });
    const checkGoesOn = () => {
      throwIfAborted(signal, sessions.direction);
      sessions.checkOpen();
    };
    yield* resultsOf(this.secondRuns(session, made), { overlaps: sessions.overlaps, signal, checkGoesOn });
  }

  private *secondRuns(session: Session, made: Between[]): Generator<PieceRun, void, void> {
    const { passage, host } = this.parts;
    const pieces = [...made];
    for (const [i, { piece, values }] of pieces.entries()) {
      const next = pieces[i + 1];
      yield async (signal) => {
        this.sessions.checkOpen();
        const plan = await session.planOf(piece.latents, piece.begins);
        await (i === 0 ? copyToInputs(plan, values) : passage.receive(plan));
        if (next) await passage.fetch(next);
        host.between.giveBack(made.shift()!.values);
        await plan.run({ signal });
        return this.resultOf(session, plan, piece);
      };
    }
  }

  private async resultOf(session: Session, plan: Plan, piece: ClipPiece): Promise<OnTheWay<Clip>> {
    const { direction, resources } = this.sessions;
    const dims = resultDims(resources, direction, session.shape, piece);
    const { result } = await session.beginRead(plan, piece.into);
    return { result: result.then((read) => ({ values: checkResult(read, direction, { ...piece, dims }), dims })) };
  }

  /** Takes host memory for what the first part makes of a piece. */
  private async makeRoom(piece: ClipPiece, made: Between[]): Promise<void> {
    const { passage, host } = this.parts;
    const values = await host.between.take(passage.bytes);
    made.push({ piece, values, bytes: this.bytesBetween(piece) });
  }

  private bytesBetween({ latents, begins }: Pick<ClipPiece, "latents" | "begins">): number {
    const { direction, resources } = this.sessions;
    return bytesBetweenTurns(resources, direction, this.parts.shape, { latents, begins });
  }
}
