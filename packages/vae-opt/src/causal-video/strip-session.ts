import { countOf, type DeviceBuffer } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import { type Clip, checkResult } from "./clip";
import {
  givenName,
  measuredName,
  normsOf,
  PooledStatistics,
  repeatLast,
  statisticsChange,
  unknownStatistics,
} from "./norm-statistics";
import { inputDims, partOf } from "./piece-layout";
import type { Session } from "./session";
import { putRows, rowsOf, type Strip, scaled, stripsOf } from "./strips";

/** Statistics that move normalised values by no more than this part of their deviation stay as they are: the pass that follows
 *  has those of the whole picture to a small part of it. */
const SAME = 2e-2;

/** One piece on its way through the strips. */
interface StripPiece {
  x: Clip;
  latents: number;
  begins: boolean;
  /** Number of the result's first frame in the clip. */
  firstFrame: number;
  /** Where the result goes; default: a new array. */
  into?: Float32Array | undefined;
  signal?: AbortSignal | undefined;
  checkOpen(): void;
}

/**
 * Runs the outer part of the model over strips of the picture, one after the other, to the result that the whole picture has.
 * Rows beyond a strip, as many as reach into it, take care of its convolutions. Its norms take statistics of the whole picture,
 * which are found by repetition: they are guessed, the strips measure them, and that goes on until they stay as they are. Each
 * time one norm more is right for certain, so it ends; since pieces resemble the ones before, it mostly ends after a few. A last
 * pass makes the result.
 */
export class StripSession {
  private statistics = new Map<string, Float32Array>();
  /** How often each piece ran, for tests. */
  readonly passes: number[] = [];

  private constructor(
    private readonly session: Session,
    private readonly height: number,
    private readonly strips: Strip[],
    /** What each strip keeps between pieces. */
    private readonly kept: DeviceBuffer[],
  ) {}

  /**
   * Allocates what strips keep between pieces. height: rows of latents of the whole picture.
   *
   * @throws VdError `memory`
   */
  static async open(session: Session, height: number): Promise<StripSession> {
    const { direction, resources, shape, stream } = session;
    const strips = stripsOf(height, shape.height, resources.model.parts[direction].reach);
    const kept: DeviceBuffer[] = [];
    const opened = new StripSession(session, height, strips, kept);
    try {
      for (const _ of strips) kept.push(await resources.device.allocateHost(stream.bytes));
    } catch (error) {
      await opened.free();
      throw error;
    }
    return opened;
  }

  /**
   * Runs one piece of the whole picture. x: what the outer part takes → what it gives.
   *
   * @throws VdError `cancelled`, `memory`
   */
  async run(piece: StripPiece): Promise<Clip> {
    const plan = await this.session.planOf(piece.latents, piece.begins);
    const norms = normsOf(plan.layout.graph);
    if (piece.begins) this.statistics.clear();
    for (const { path, groups, frames } of norms) {
      const known = this.statistics.get(path) ?? unknownStatistics(groups);
      this.statistics.set(path, repeatLast(known, groups, frames));
    }
    for (let pass = 1; ; pass++) {
      const { measured } = await this.runOnce(plan, piece);
      const change = Math.max(
        ...norms.map(({ path }) => statisticsChange(this.statistics.get(path)!, measured.get(path)!)),
      );
      this.statistics = measured;
      if (change > SAME && pass < norms.length) continue;
      this.passes.push(pass + 1);
      return (await this.runOnce(plan, piece, this.resultFor(piece))).result!;
    }
  }

  async free(): Promise<void> {
    for (const buffer of this.kept) await buffer.free();
  }

  /** Runs all strips with the statistics as they are, and measures what they would be. With a place for the result the piece
   *  is done: what the strips keep for the next one is kept. */
  private async runOnce(plan: Plan, piece: StripPiece, result?: Clip) {
    const norms = normsOf(plan.layout.graph);
    const pooled = norms.map(({ frames, groups }) => new PooledStatistics(frames, groups));
    for (const { path } of norms) await plan.write(givenName(path), this.statistics.get(path)!);
    const { height } = this.session.shape;
    for (const [i, strip] of this.strips.entries()) {
      piece.checkOpen();
      await this.runStrip(plan, piece, i, result);
      for (const [n, { path, rows }] of norms.entries()) {
        const { top, begin, end } = scaled(strip, rows / height);
        pooled[n]!.add(await plan.read(measuredName(path)), rows, begin - top, end - top);
      }
    }
    const measured = norms.map(({ path }, n) => [path, pooled[n]!.result(this.statistics.get(path)!)] as const);
    return { result, measured: new Map(measured) };
  }

  private async runStrip(
    plan: Plan,
    { x, begins, firstFrame, signal }: StripPiece,
    index: number,
    result?: Clip,
  ): Promise<void> {
    const { shape, stream } = this.session;
    const kept = this.kept[index]!;
    const strip = this.strips[index]!;
    if (!begins) await stream.buffer.copyFrom(kept, 0, 0, stream.bytes);
    const scale = x.dims[1] / this.height;
    await plan.write("x", rowsOf(x, strip.top * scale, (strip.top + shape.height) * scale).values);
    await plan.run({ signal });
    if (!result) return;
    await kept.copyFrom(stream.buffer, 0, 0, stream.bytes);
    const growth = result.dims[1] / this.height;
    const dims = [result.dims[0], shape.height * growth, result.dims[2], result.dims[3]] as const;
    const values = checkResult(await plan.readChecked("y"), this.session.direction, { dims, firstFrame });
    putRows(result, { values, dims }, scaled(strip, growth));
  }

  private resultFor({ x, latents, begins, into }: StripPiece): Clip {
    const { direction, resources, shape } = this.session;
    const part = partOf(resources, direction, "strips");
    const whole = { ...shape, height: this.height };
    const frames = part.framesOf(inputDims(resources, direction, whole, { latents, begins })[1], begins);
    const dims = [frames, x.dims[1] * part.growth, x.dims[2] * part.growth, part.channels[1]] as const;
    return { values: into ?? new Float32Array(countOf(dims)), dims };
  }
}
