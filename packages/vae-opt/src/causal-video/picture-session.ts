import type { Clip } from "./clip";
import type { StreamPlan } from "./planning";
import { ALL_FRAMES, type DirectionSessions, inputDims, partOf, type Session } from "./session";
import { StripSession } from "./strip-session";

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
   * Runs one piece. x: frames, or latents, of the whole picture → the other.
   *
   * @throws VdError `cancelled`, `memory`, `attr` once the autoencoder is closed
   */
  async run(x: Clip, latents: number, begins: boolean, signal?: AbortSignal): Promise<Clip> {
    const checkOpen = () => this.sessions.checkOpen();
    checkOpen();
    if (!this.strips) return this.runInner(x, latents, begins, signal);
    const piece = { latents, begins, signal, checkOpen };
    if (this.sessions.direction === "encode")
      return this.runInner(await this.strips.run({ ...piece, x }), latents, begins, signal);
    return this.strips.run({ ...piece, x: await this.runInner(x, latents, begins, signal) });
  }

  /** Gives back what the stream used. */
  async close(): Promise<void> {
    await this.strips?.free();
    await this.sessions.release(this.inner);
    if (this.outer) await this.sessions.release(this.outer);
  }

  private async runInner(x: Clip, latents: number, begins: boolean, signal?: AbortSignal): Promise<Clip> {
    const { direction, resources } = this.sessions;
    const { shape } = this.inner;
    const part = partOf(resources, direction, shape.part);
    const [, frames, height, width] = inputDims(resources, direction, shape, { latents, begins });
    const values = await this.inner.run(x.values, latents, begins, signal);
    const growth = part.growth;
    return { values, dims: [part.framesOf(frames, begins), height * growth, width * growth, part.channels[1]] };
  }
}
