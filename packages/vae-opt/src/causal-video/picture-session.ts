import { runInSlices } from "@vd/tensor";
import { type Clip, checkResult, checkValues } from "./clip";
import type { DirectionSessions } from "./direction-sessions";
import { ALL_FRAMES, resultDims } from "./piece-layout";
import type { StreamPlan } from "./planning";
import type { OnTheWay } from "./readback";
import type { InputOfPiece, Session } from "./session";
import { StripSession } from "./strip-session";

/** Consecutive latents, or frames, of a clip that run at once. */
export interface ClipPiece extends InputOfPiece {
  /** Number of the result's first frame in the clip. */
  firstFrame: number;
}

/** Runs one stream's pieces: through the whole model at once, or its outer part strip by strip. */
export class PictureSession {
  private constructor(
    private readonly sessions: DirectionSessions,
    /** The whole model, or its inner part. */
    private readonly inner: Session,
    private readonly outer: Session | undefined,
    readonly strips: StripSession | undefined,
  ) {}

  /**
   * Prepares for pictures of `height` × `width` latents.
   *
   * @throws VdError `memory`, `attr` once the autoencoder is closed
   */
  static async open(
    sessions: DirectionSessions,
    { latentsPerRun, framesAtOnce, stripHeight }: StreamPlan,
    height: number,
    width: number,
  ): Promise<PictureSession> {
    const shape = { height, width, latentsPerRun, framesAtOnce };
    const { strips } = sessions.resources.model.parts[sessions.direction];
    const isCut = stripHeight !== undefined && stripHeight < height && strips !== undefined;
    const inner = await sessions.acquire({ ...shape, part: isCut ? "rest" : "all" });
    if (!isCut) return new PictureSession(sessions, inner, undefined, undefined);
    let outer: Session | undefined;
    try {
      // Norms of strips take the statistics of all frames of a piece at once.
      outer = await sessions.acquire({ ...shape, part: "strips", height: stripHeight, framesAtOnce: ALL_FRAMES });
      return new PictureSession(sessions, inner, outer, await StripSession.open(outer, height));
    } catch (error) {
      await sessions.release(inner);
      if (outer) await sessions.release(outer);
      throw error;
    }
  }

  /**
   * Runs one piece, and resolves once the next one may run. x: frames, or latents, of the whole picture → the other.
   *
   * @throws VdError `cancelled`, `memory`, `attr` once the autoencoder is closed or for unchecked values that are not finite or out of range; the result: `weights` where it is not finite
   */
  async start(piece: ClipPiece, signal?: AbortSignal): Promise<OnTheWay<Clip>> {
    this.sessions.checkOpen();
    if (!this.strips) return this.startInner(piece, signal);
    const { x, unchecked } = piece;
    if (unchecked) await runInSlices(checkValues.inPieces(x, unchecked), { signal, where: unchecked.where });
    const result = await this.runInStrips({ ...piece, unchecked: undefined }, this.strips, signal);
    return { result: Promise.resolve(result) };
  }

  /** Gives back what the stream used. */
  async close(): Promise<void> {
    await this.strips?.free();
    await this.sessions.release(this.inner);
    if (this.outer) await this.sessions.release(this.outer);
  }

  private async runInStrips(piece: ClipPiece, strips: StripSession, signal?: AbortSignal): Promise<Clip> {
    const checkOpen = () => this.sessions.checkOpen();
    const runInner = async (inner: ClipPiece) => (await this.startInner(inner, signal)).result;
    const run = (outer: ClipPiece) => strips.run({ ...outer, signal, checkOpen });
    // What lies between both parts has no place in the whole result.
    const first = { ...piece, into: undefined };
    if (this.sessions.direction === "encode") return runInner({ ...piece, x: await run(first) });
    return run({ ...piece, x: await runInner(first) });
  }

  private async startInner(piece: ClipPiece, signal?: AbortSignal): Promise<OnTheWay<Clip>> {
    const { direction, resources } = this.sessions;
    const dims = resultDims(resources, direction, this.inner.shape, piece);
    const { result } = await this.inner.start(piece, signal);
    const place = { dims, firstFrame: piece.firstFrame };
    return { result: result.then((read) => ({ values: checkResult(read, direction, place), dims })) };
  }
}
