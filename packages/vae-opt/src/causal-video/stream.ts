import { cancelledError, throwIfAborted, VdError } from "@vd/kernels-native";
import { runInSlices } from "@vd/tensor";
import { untilAborted } from "../until-aborted";
import { type Clip, type ClipRule, checkClip, framesOf, joinClips } from "./clip";
import { pictureFactor } from "./config";
import { PictureSession } from "./picture-session";
import { checkStreamPlan, type StreamPlan } from "./planning";
import type { DirectionSessions } from "./session";

/** A clip, or its consecutive pieces; their arrays must not change before the next piece is asked for, and may then. */
export type ClipSource = Clip | Iterable<Clip> | AsyncIterable<Clip>;

/** How a stream runs. */
export interface StreamOptions {
  rule: ClipRule;
  /** Input frames for one latent behind the clip's first frame. */
  unit: number;
  /** What becomes of last frames that are fewer. */
  incomplete: "repeat" | "drop";
  plan?: StreamPlan | undefined;
  /** Plans for pictures of `height` × `width` of the input. */
  planFor(height: number, width: number): Promise<StreamPlan>;
  signal?: AbortSignal | undefined;
}

/** Whether a source is a whole clip. */
export const isClip = (source: ClipSource): source is Clip =>
  typeof source === "object" && source !== null && Array.isArray((source as Partial<Clip>).dims);

function piecesOf(source: ClipSource, where: string): Iterable<Clip> | AsyncIterable<Clip> {
  const isIterable =
    typeof source === "object" && source !== null && (Symbol.iterator in source || Symbol.asyncIterator in source);
  if (!isClip(source) && !isIterable)
    throw new VdError({ code: "attr", where, expected: "a clip, or an iterable of its pieces", got: typeof source });
  return isClip(source) ? [source] : source;
}

/** Frames that wait until there are enough of them for a piece. */
class Waiting {
  private pieces: Clip[] = [];
  count = 0;

  add(piece: Clip): void {
    this.pieces.push(piece);
    this.count += piece.dims[0];
  }

  /** Copies what waits of the piece that came last: its array is the source's, which may fill it anew. */
  keep(): void {
    const last = this.pieces.pop();
    if (last) this.pieces.push({ ...last, values: last.values.slice() });
  }

  /** Adds the last frame once more, `times` times. */
  repeatLast(times: number): void {
    const last = this.pieces.at(-1);
    if (!last) return;
    const frames = last.dims[0];
    for (let i = 0; i < times; i++) this.add(framesOf(last, frames - 1, frames));
  }

  /** Takes the first `count` frames; those of one piece without a copy. */
  take(count: number): Clip {
    const taken: Clip[] = [];
    let missing = count;
    while (missing > 0) {
      const piece = this.pieces[0]!;
      const part = Math.min(missing, piece.dims[0]);
      taken.push(framesOf(piece, 0, part));
      if (part === piece.dims[0]) this.pieces.shift();
      else this.pieces[0] = framesOf(piece, part, piece.dims[0]);
      missing -= part;
    }
    this.count -= count;
    return joinClips(taken);
  }
}

/** Cuts what comes in into the pieces that the plan has, runs them, and hands out the results. */
class Run {
  private readonly waiting = new Waiting();
  private session: PictureSession | undefined;
  private latentsPerRun = 1;
  private size: readonly [height: number, width: number] | undefined;
  private begun = false;

  constructor(
    private readonly sessions: DirectionSessions,
    private readonly options: StreamOptions,
  ) {}

  /** Checks a piece of the input and takes it in. */
  async add(piece: Clip): Promise<void> {
    const { rule, signal } = this.options;
    await runInSlices(checkClip.inPieces(piece, rule), { signal, where: rule.where });
    const [, height, width] = piece.dims;
    this.size ??= [height, width];
    if (height !== this.size[0] || width !== this.size[1])
      throw new VdError({
        ...{ code: "shape", where: `${rule.where}] [${rule.what}` },
        ...{ expected: `${this.size.join(" × ")} as in the first piece`, got: `${height} × ${width}` },
      });
    if (!this.session) await this.open(height, width);
    this.waiting.add(piece);
  }

  /** Runs whole pieces as long as there are frames for them, and keeps the others. */
  async *drain(): AsyncGenerator<Clip, void, void> {
    if (!this.begun && this.waiting.count > 0) {
      yield await this.run(1);
      this.begun = true;
    }
    while (this.begun && this.waiting.count >= this.options.unit * this.latentsPerRun)
      yield await this.run(this.latentsPerRun);
    this.waiting.keep();
  }

  /** Runs what is left when the input has ended. */
  async *finish(): AsyncGenerator<Clip, void, void> {
    const { unit, incomplete, rule } = this.options;
    if (!this.begun)
      throw new VdError({ code: "shape", where: `${rule.where}] [${rule.what}`, expected: "one or more", got: "none" });
    const missing = (unit - (this.waiting.count % unit)) % unit;
    if (incomplete === "repeat") this.waiting.repeatLast(missing);
    const latents = Math.floor(this.waiting.count / unit);
    if (latents > 0) yield await this.run(latents);
  }

  async close(): Promise<void> {
    await this.session?.close();
  }

  private async open(height: number, width: number): Promise<void> {
    const { plan, planFor } = this.options;
    const chosen = plan ?? (await planFor(height, width));
    const factor = this.sessions.direction === "encode" ? pictureFactor(this.sessions.resources.model.config) : 1;
    this.latentsPerRun = chosen.latentsPerRun;
    await this.sessions.makeRoom(chosen.bytes);
    this.session = await PictureSession.open(this.sessions, chosen, height / factor, width / factor);
  }

  private async run(latents: number): Promise<Clip> {
    const { unit, signal, rule } = this.options;
    throwIfAborted(signal, rule.where);
    const begins = !this.begun;
    const input = this.waiting.take(begins ? unit * (latents - 1) + 1 : unit * latents);
    return this.session!.run(input, latents, begins, signal);
  }
}

/** Runs a stream: yields each piece's result as soon as it is there. */
export async function* runStream(
  source: ClipSource,
  sessions: DirectionSessions,
  options: StreamOptions,
): AsyncGenerator<Clip, void, void> {
  const { signal, rule } = options;
  throwIfAborted(signal, rule.where);
  sessions.checkOpen();
  if (options.plan !== undefined) checkStreamPlan(options.plan, sessions);
  const run = new Run(sessions, options);
  try {
    const aborted = () => cancelledError(rule.where, { signal });
    for await (const piece of untilAborted(piecesOf(source, `${rule.where}] [${rule.what}`), signal, aborted)) {
      await run.add(piece);
      yield* run.drain();
    }
    yield* run.finish();
  } finally {
    await run.close();
  }
}
