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

/** Runs a section over frames, at most `most` at a time; pauses after each piece. frames: [1,F,H,W,C], in one tensor or in one for each
 *  piece, whose memory is free once the piece has read it. */
export function* runSection(
  g: Graph,
  frames: readonly Tensor[],
  section: Section,
  piece: Piece,
  most: number,
): Pausable<Tensor> {
  const [, , height, width] = frames[0]!.dims as [number, number, number, number];
  const count = frames.reduce((sum, { dims }) => sum + dims[1]!, 0);
  const ends = pieceEnds(section.frames, count, piece.begins, most);
  if (ends.length === 1) return yield* runModules(g, frames[0]!, section.modules, piece);
  const indexOf = (frame: number) => framesAfter(section.frames, frame, piece.begins);
  const y = g.empty([1, indexOf(count), ...section.pictureOf(height, width), section.channels]);
  let begin = 0;
  for (const [i, end] of ends.entries()) {
    const part: Piece = {
      ...piece,
      begins: piece.begins && begin === 0,
      ends: piece.ends && end === count,
    };
    const place = frameRange(y, indexOf(begin), indexOf(end));
    const x = frames.length > 1 ? frames[i]! : frameRange(frames[0]!, begin, end);
    yield* runModules(g, x, section.modules, part, place);
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

/** What a module does to height and width. */
type SizeChange = "halved" | "doubled";

/** A module of the model. */
interface Step {
  module: CausalModule;
  /** Of the result. */
  channels: number;
  size?: SizeChange;
  frames: FrameChange;
}

/** The modules of encoder or decoder, one behind the other. */
export class Steps {
  private readonly all: Step[] = [];

  /** channels: of the first module's input. */
  constructor(private readonly channels: number) {}

  get count(): number {
    return this.all.length;
  }

  /** Adds a module that keeps height, width and the number of frames. channels: of the result. */
  add(module: CausalModule, channels: number): void {
    this.all.push({ module, channels, frames: "same" });
  }

  /** Adds a module that changes height and width, and the number of frames likewise where `temporal`. */
  addChange(
    size: SizeChange,
    module: CausalModule,
    { temporal, channels }: { temporal: boolean; channels: number },
  ): void {
    this.all.push({ module, channels, size, frames: temporal ? size : "same" });
  }

  /** Channels between the first `count` modules and the others. */
  channelsBehind(count: number): number {
    return this.all[count - 1]?.channels ?? this.channels;
  }

  /** The modules `begin` to `end` as sections; one ends behind the first `cut` modules. */
  sections(begin: number, end: number, cut?: number): Section[] {
    const sections: Section[] = [];
    let first = begin;
    for (let i = begin; i < end; i++) {
      if (this.all[i]!.frames === "same" && i + 1 !== end && i + 1 !== cut) continue;
      sections.push(sectionOf(this.all.slice(first, i + 1)));
      first = i + 1;
    }
    return sections;
  }
}

function sectionOf(steps: readonly Step[]): Section {
  const count = (change: SizeChange) => steps.filter(({ size }) => size === change).length;
  const [halvings, doublings] = [count("halved"), count("doubled")];
  const size = (pixels: number) => {
    let result = pixels * 2 ** doublings;
    for (let i = 0; i < halvings; i++) result = Math.floor(result / 2);
    return result;
  };
  const { frames, channels } = steps[steps.length - 1]!;
  return {
    ...{ modules: steps.map(({ module }) => module), frames, channels, growth: 2 ** (doublings - halvings) },
    pictureOf: (height, width) => [size(height), size(width)],
  };
}
