import { cancelledError, throwIfAborted, VdError } from "@vd/kernels-native";
import { runInSlices } from "@vd/tensor";
import { untilAborted } from "../until-aborted";
import { type Clip, type ClipRule, checkDims, checkValues, framesOf, joinClips } from "./clip";
import { pictureFactor } from "./config";
import type { DirectionSessions } from "./direction-sessions";
import { type ClipPiece, PictureSession } from "./picture-session";
import { resultDims } from "./piece-layout";
import { checkStreamPlan, type StreamPlan, spareHostBytes } from "./planning";
import { type PieceRun, resultsOf } from "./readback";
import { TurnSession } from "./turn-session";
import type { WholeResult } from "./whole-result";

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
  /** Takes the results of a clip that is given whole. */
  whole?: WholeResult | undefined;
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

/** Of the memory that the machine has to spare, what a whole clip's turns take: the rest is for its frames. */
const WHOLE_SHARE = 0.5;

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
  private turns: TurnSession | undefined;
  private latentsPerRun = 1;
  private latentsPerTurn = 1;
  private size: readonly [height: number, width: number] | undefined;
  private begun = false;
  /** Frames of the results of what was taken. */
  private numFrames = 0;

  constructor(
    private readonly sessions: DirectionSessions,
    private readonly options: StreamOptions,
    /** Whether the first piece is the whole clip. */
    private readonly isWhole: boolean,
  ) {}

  /** Checks a piece of the input and takes it in. The values of a whole clip are checked piece by piece, on their way to the device. */
  async add(piece: Clip): Promise<void> {
    const { rule, signal } = this.options;
    checkDims(piece, rule);
    if (!this.isWhole) await runInSlices(checkValues.inPieces(piece, rule), { signal, where: rule.where });
    const [, height, width] = piece.dims;
    this.size ??= [height, width];
    if (height !== this.size[0] || width !== this.size[1])
      throw new VdError({
        ...{ code: "shape", where: `${rule.where}] [${rule.what}` },
        ...{ expected: `${this.size.join(" × ")} as in the first piece`, got: `${height} × ${width}` },
      });
    if (!this.session && !this.turns) await this.open(height, width);
    // Behind what looks at the memory that there is to spare.
    if (this.isWhole) this.prepareWhole(piece);
    this.waiting.add(piece);
  }

  /** Runs whole pieces, or turns, as long as there are frames for them, and keeps the others. */
  async *drain(): AsyncGenerator<Clip, void, void> {
    // All of a whole clip is run at its end: which turn is the last is seen there, and no piece waits for one before it to be handed out.
    if (this.isWhole) return;
    if (!this.turns) yield* this.results({ ends: false });
    else while (this.latentsWaiting >= this.latentsPerTurn) yield* this.turn(this.latentsPerTurn, false);
    this.waiting.keep();
  }

  /** Runs what is left when the input has ended. */
  async *finish(): AsyncGenerator<Clip, void, void> {
    const { unit, incomplete, rule } = this.options;
    if (!this.begun && this.waiting.count === 0)
      throw new VdError({ code: "shape", where: `${rule.where}] [${rule.what}`, expected: "one or more", got: "none" });
    const missing = (unit - ((this.waiting.count - Number(!this.begun)) % unit)) % unit;
    if (incomplete === "repeat") this.waiting.repeatLast(missing);
    if (!this.turns) return yield* this.results({ ends: true });
    for (let latents = this.latentsWaiting; latents > 0; latents = this.latentsWaiting)
      yield* this.turn(Math.min(latents, this.latentsPerTurn), latents <= this.latentsPerTurn);
  }

  async close(): Promise<void> {
    await this.session?.close();
    await this.turns?.free();
    await this.options.whole?.settle();
  }

  /** Makes room for the result of a whole clip. */
  private prepareWhole({ dims: [count] }: Clip): void {
    const { unit, incomplete, whole } = this.options;
    const behindFirst = (count - 1) / unit;
    const latents = 1 + (incomplete === "repeat" ? Math.ceil(behindFirst) : Math.floor(behindFirst));
    whole?.prepare(this.resultOf({ latents, begins: true }));
  }

  /** Shape of what so many latents give. */
  private resultOf(piece: { latents: number; begins: boolean }): Clip["dims"] {
    const { direction, resources } = this.sessions;
    return resultDims(resources, direction, { part: "all", ...this.sizeInLatents }, piece);
  }

  private get sizeInLatents(): { height: number; width: number } {
    const { direction, resources } = this.sessions;
    const factor = direction === "encode" ? pictureFactor(resources.model.config) : 1;
    const [height, width] = this.size!;
    return { height: height / factor, width: width / factor };
  }

  /** Latents for which all frames are there. */
  private get latentsWaiting(): number {
    const { unit } = this.options;
    const { count } = this.waiting;
    if (this.begun) return Math.floor(count / unit);
    return count > 0 ? 1 + Math.floor((count - 1) / unit) : 0;
  }

  private async open(height: number, width: number): Promise<void> {
    const { plan, planFor } = this.options;
    const chosen = plan ?? (await planFor(height, width));
    const size = this.sizeInLatents;
    this.latentsPerRun = chosen.latentsPerRun;
    await this.sessions.makeRoom(chosen);
    if (chosen.latentsPerTurn === undefined || !this.sessions.resources.model.parts[this.sessions.direction].outer)
      this.session = await PictureSession.open(this.sessions, chosen, size.height, size.width);
    else await this.openTurns(chosen, chosen.latentsPerTurn, size);
  }

  private async openTurns(
    { latentsPerRun, framesAtOnce, bytes }: StreamPlan,
    latentsPerTurn: number,
    size: { height: number; width: number },
  ): Promise<void> {
    this.turns = await TurnSession.open(this.sessions, { ...size, latentsPerRun, framesAtOnce }, bytes);
    const spare = spareHostBytes() + this.sessions.idleHostBytes;
    const most = this.isWhole ? Math.floor((WHOLE_SHARE * spare) / this.turns.bytesPerLatent) : 0;
    this.latentsPerTurn = Math.max(latentsPerTurn, most);
  }

  /** Runs the pieces for which frames are there. ends: also one that is shorter than others. */
  private results(which: { ends: boolean }): AsyncGenerator<Clip, void, void> {
    const { rule, signal } = this.options;
    const checkGoesOn = () => {
      throwIfAborted(signal, rule.where);
      this.sessions.checkOpen();
    };
    return resultsOf(this.runs(which), { overlaps: this.sessions.overlaps, signal, checkGoesOn });
  }

  private *runs({ ends }: { ends: boolean }): Generator<PieceRun, void, void> {
    const { rule, signal } = this.options;
    for (let [piece, next] = [this.next(ends), this.next(ends)]; piece; [piece, next] = [next, this.next(ends)]) {
      const input = { ...piece, next };
      yield async (stop) => {
        throwIfAborted(signal, rule.where);
        return this.session!.start(input, stop);
      };
    }
  }

  /** Takes the next piece, if all its frames are there. ends: also one that is shorter than others. */
  private next(ends: boolean): ClipPiece | undefined {
    const most = this.begun ? this.latentsPerRun : 1;
    const waiting = this.latentsWaiting;
    return waiting === 0 || (waiting < most && !ends) ? undefined : this.take(Math.min(waiting, most));
  }

  private async *turn(latents: number, ends: boolean): AsyncGenerator<Clip, void, void> {
    const { signal, rule } = this.options;
    throwIfAborted(signal, rule.where);
    const pieces: ClipPiece[] = this.begun ? [] : [this.take(1)];
    for (let left = latents - pieces.length; left > 0; left -= this.latentsPerRun)
      pieces.push(this.take(Math.min(left, this.latentsPerRun)));
    yield* this.turns!.run(pieces, { ends, signal });
  }

  /** Takes the frames of the next piece. */
  private take(latents: number): ClipPiece {
    const { unit, rule, whole } = this.options;
    const [begins, firstFrame] = [!this.begun, this.numFrames];
    const x = this.waiting.take(begins ? unit * (latents - 1) + 1 : unit * latents);
    this.begun = true;
    const [count] = this.resultOf({ latents, begins });
    this.numFrames += count;
    const unchecked = this.isWhole ? rule : undefined;
    return { x, latents, begins, firstFrame, unchecked, into: whole?.place(firstFrame, count) };
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
  const run = new Run(sessions, options, isClip(source));
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
