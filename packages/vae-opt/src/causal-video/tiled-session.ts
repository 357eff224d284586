import { allocateBuffer, type DeviceBuffer } from "@vd/kernels-native";
import type { Clip } from "./clip";
import { pictureFactor } from "./config";
import type { StreamPlan } from "./planning";
import { type DirectionSessions, inputFrames, type Session } from "./session";
import { addTile, cropClip, tileRow } from "./tiles";

/** A tile: its place and how much it counts there. */
interface Tile {
  /** In latents. */
  top: number;
  left: number;
  /** Of the result, per row and per column. */
  rows: Float32Array;
  columns: Float32Array;
  /** What is kept between its pieces; the only tile of a picture keeps it on the device. */
  kept: DeviceBuffer | undefined;
}

/** Runs one stream's pieces, as whole pictures or tile by tile. */
export class TiledSession {
  private constructor(
    private readonly sessions: DirectionSessions,
    private readonly session: Session,
    private readonly tiles: readonly Tile[],
  ) {}

  /**
   * Prepares for pictures of `height` × `width` latents.
   *
   * @throws VdError `memory`
   */
  static async open(
    sessions: DirectionSessions,
    plan: StreamPlan,
    height: number,
    width: number,
  ): Promise<TiledSession> {
    const { latentsPerRun, framesAtOnce, tiles: size = { height, width, overlap: 0 } } = plan;
    const shape = {
      ...{ height: Math.min(size.height, height), width: Math.min(size.width, width) },
      ...{ latentsPerRun, framesAtOnce },
    };
    const session = await sessions.acquire(shape);
    const { config } = sessions.resources.model;
    const factor = sessions.direction === "decode" ? pictureFactor(config) : 1;
    const down = tileRow(height, shape.height, size.overlap, factor);
    const across = tileRow(width, shape.width, size.overlap, factor);
    const isOnly = down.starts.length * across.starts.length === 1;
    const tiles = down.starts.flatMap((top, i) =>
      across.starts.map((left, j) => ({
        ...{ top, left, rows: down.weights[i]!, columns: across.weights[j]! },
        kept: isOnly ? undefined : allocateBuffer(session.stream.bytes),
      })),
    );
    return new TiledSession(sessions, session, tiles);
  }

  /**
   * Runs one piece. x: frames, or latents, of the whole picture → the other.
   *
   * @throws VdError `cancelled`, `memory`, `attr` once the autoencoder is closed
   */
  async run(x: Clip, latents: number, begins: boolean, signal?: AbortSignal): Promise<Clip> {
    const only = this.tiles.length === 1;
    const whole = this.resultFor(x, latents, begins);
    for (const tile of this.tiles) {
      this.sessions.checkOpen();
      const { direction, resources } = this.sessions;
      const factor = pictureFactor(resources.model.config);
      const { height, width } = this.session.shape;
      const inFactor = direction === "encode" ? factor : 1;
      const outFactor = direction === "decode" ? factor : 1;
      const input = cropClip(x, tile.top * inFactor, tile.left * inFactor, height * inFactor, width * inFactor);
      const kept = tile.kept;
      const { buffer, bytes } = this.session.stream;
      if (kept && !begins) await buffer.copyFrom(kept, 0, 0, bytes);
      const values = await this.session.run(input.values, latents, begins, signal);
      if (kept) await kept.copyFrom(buffer, 0, 0, bytes);
      if (only) return { values, dims: whole.dims };
      const [frames, , , channels] = whole.dims;
      const part: Clip = { values, dims: [frames, height * outFactor, width * outFactor, channels] };
      addTile(whole, part, { ...tile, top: tile.top * outFactor, left: tile.left * outFactor });
    }
    return whole;
  }

  /** Gives back what the stream used. */
  async close(): Promise<void> {
    for (const { kept } of this.tiles) await kept?.free();
    await this.sessions.release(this.session);
  }

  /** An empty result for a piece; without values where the only tile's take their place. */
  private resultFor({ dims }: Clip, latents: number, begins: boolean): Clip {
    const { direction, resources } = this.sessions;
    const { config } = resources.model;
    const [, height, width] = dims;
    const scale = direction === "encode" ? 1 / pictureFactor(config) : pictureFactor(config);
    const frames = direction === "encode" ? latents : inputFrames(resources, "encode", latents, begins);
    const channels = direction === "encode" ? 2 * config.latentChannels : config.outChannels;
    const result = [frames, height * scale, width * scale, channels] as const;
    const count = this.tiles.length === 1 ? 0 : frames * height * scale * width * scale * channels;
    return { values: new Float32Array(count), dims: result };
  }
}
