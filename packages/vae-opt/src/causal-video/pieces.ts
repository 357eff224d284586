import { frameRange, type Graph, type Pausable, type Tensor } from "@vd/tensor";
import type { CausalModule } from "./blocks";
import type { Piece } from "./frame-memory";

/** What a part of the model does to the number of frames. */
export type FrameChange = "same" | "halved" | "doubled";

/** Consecutive parts of the model that can run over a few frames at a time, only the last of which changes their number. */
export interface Section {
  modules: readonly CausalModule[];
  frames: FrameChange;
  /** Result of [height, width] in pixels. */
  pictureOf(height: number, width: number): [height: number, width: number];
  /** Rows of the result for each of the input. */
  growth: number;
  /** Of the result. */
  channels: number;
}

/** How many frames of the result `count` frames give. begins: they are a clip's first ones. */
export function framesAfter(change: FrameChange, count: number, begins: boolean): number {
  if (change === "same") return count;
  if (change === "halved") return begins ? Math.floor((count + 1) / 2) : Math.floor(count / 2);
  return begins ? Math.max(2 * count - 1, 0) : 2 * count;
}

/** The ends of pieces of at most `most` frames. Where frames are halved a piece ends behind a pair of them, so it has two or
 *  more; the clip's first frame has no partner. */
export function pieceEnds(change: FrameChange, count: number, begins: boolean, most: number): number[] {
  if (count <= most) return [count];
  const step = change === "halved" ? Math.max(2 * Math.floor(most / 2), 2) : Math.max(most, 1);
  const ends: number[] = [];
  for (let end = change === "halved" && begins ? 1 : step; end < count; end += step) ends.push(end);
  return [...ends, count];
}

/** Runs a section over x, at most `most` frames at a time; pauses after each piece. x: [1,F,H,W,C]. */
export function* runSection(g: Graph, x: Tensor, section: Section, piece: Piece, most: number): Pausable<Tensor> {
  const [, count, height, width] = x.dims as [number, number, number, number];
  const ends = pieceEnds(section.frames, count, piece.begins, most);
  if (ends.length === 1) return yield* runModules(g, x, section.modules, piece);
  const indexOf = (frame: number) => framesAfter(section.frames, frame, piece.begins);
  const y = g.empty([1, indexOf(count), ...section.pictureOf(height, width), section.channels]);
  let begin = 0;
  for (const end of ends) {
    const part: Piece = {
      ...piece,
      begins: piece.begins && begin === 0,
      ends: piece.ends && end === count,
    };
    const place = frameRange(y, indexOf(begin), indexOf(end));
    yield* runModules(g, frameRange(x, begin, end), section.modules, part, place);
    begin = end;
  }
  return y;
}

function* runModules(
  g: Graph,
  x: Tensor,
  modules: readonly CausalModule[],
  piece: Piece,
  out?: Tensor,
): Pausable<Tensor> {
  let value = x;
  for (const [i, module] of modules.entries()) {
    value = module(g, value, piece, i === modules.length - 1 ? out : undefined);
    yield;
  }
  return value;
}

/** What a module does that changes height and width. */
export interface SizeChange {
  temporal: boolean;
  /** Whether a section must end here. */
  cut: boolean;
  /** Of the result. */
  channels: number;
}

/** Gathers modules into sections. */
export class Sections {
  readonly all: Section[] = [];
  private modules: CausalModule[] = [];
  private halvings = 0;
  private doublings = 0;

  /** Adds a module that keeps height, width and the number of frames. */
  add(module: CausalModule): void {
    this.modules.push(module);
  }

  /** Adds a module that halves height and width, and the frames where `temporal`. */
  addHalving(module: CausalModule, { temporal, cut, channels }: SizeChange): void {
    this.modules.push(module);
    this.halvings++;
    if (temporal || cut) this.end(temporal ? "halved" : "same", channels);
  }

  /** Adds a module that doubles height and width, and the frames where `temporal`. */
  addDoubling(module: CausalModule, { temporal, cut, channels }: SizeChange): void {
    this.modules.push(module);
    this.doublings++;
    if (temporal || cut) this.end(temporal ? "doubled" : "same", channels);
  }

  /** Ends a section: what is added later is the next one's. channels: of the result so far. */
  end(frames: FrameChange, channels: number): void {
    const { modules, halvings, doublings } = this;
    const size = (pixels: number) => {
      let result = pixels * 2 ** doublings;
      for (let i = 0; i < halvings; i++) result = Math.floor(result / 2);
      return result;
    };
    const growth = 2 ** (doublings - halvings);
    this.all.push({ modules, frames, channels, growth, pictureOf: (height, width) => [size(height), size(width)] });
    Object.assign(this, { modules: [], halvings: 0, doublings: 0 });
  }
}
