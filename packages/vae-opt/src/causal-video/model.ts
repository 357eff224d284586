import {
  type Graph,
  type Pausable,
  type PausableModule,
  pausable,
  requireLayer,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import {
  type CausalModule,
  causalResBlock,
  downsampler,
  firstConv,
  lastConv,
  middleBlock,
  quantConv,
  upsampler,
} from "./blocks";
import { type CausalVaeConfig, checkCausalVaeConfig } from "./config";
import { clipMemory, type Piece } from "./frame-memory";
import { framesAfter, pieceEnds, runSection, type Section, Steps } from "./pieces";

/** How a clip, or a piece of one, goes through encoder or decoder. */
export interface CausalCall {
  /** Frames that the layers between two changes of their number compute at a time; fewer need less memory, the result is
   *  the same. Default: all. */
  framesAtOnce?: number | undefined;
  /** Which piece of a clip it is; default: the whole clip. */
  piece?: Piece | undefined;
}

/** A part of encoder or decoder. */
export interface ModelPart {
  /** x: [1,F,H,W,C], as the part before gives it; or several, which end at {@link ModelPart.inputEnds}. */
  forward: PausableModule<[x: Tensor | readonly Tensor[], call?: CausalCall]>;
  /** The ends of the frames that are taken in at a time, of `count` and at most `most`. begins: they are a clip's first frames. */
  inputEnds(count: number, begins: boolean, most: number): number[];
  /** Frames of the result. begins: the input is a clip's first frames. */
  framesOf(count: number, begins: boolean): number;
  /** Rows of the result for each of the input. */
  growth: number;
  /** Of input and result. */
  channels: readonly [input: number, result: number];
}

/** Encoder or decoder, as a whole and cut in two. */
export interface ModelParts {
  all: ModelPart;
  /** The outer part, where pictures are large: it sees all of a picture by the statistics of its norms alone, and can run
   *  over strips of it if those are given. Undefined where there are too few levels. */
  strips?: ModelPart | undefined;
  /** The inner part, with the middle block's attention. */
  rest?: ModelPart | undefined;
  /** Rows of latents beyond a strip that reach into its result. */
  reach: number;
  /** The model cut in two elsewhere: parts that run in turns take the least memory of a device so. The part with the largest pictures;
   *  undefined where there is one level alone. */
  outer?: ModelPart | undefined;
  /** The other part, with the middle block. */
  inner?: ModelPart | undefined;
}

/** SeedVR2's autoencoder as forward functions of one clip. */
export interface CausalVideoVae {
  config: CausalVaeConfig;
  /** x: [1,F,H,W,3] in [-1,1] → moments [1,(F−1)/f+1,H/s,W/s,2·latentChannels]: means, then log-variances. A piece that does
   *  not begin a clip has a multiple of f frames and gives F/f. */
  encode: PausableModule<[x: Tensor, call?: CausalCall]>;
  /** z: [1,F,h,w,latentChannels] → frames [1,f·(F−1)+1,s·h,s·w,3]; f·F of a piece that does not begin a clip. */
  decode: PausableModule<[z: Tensor, call?: CausalCall]>;
  /** The same in parts, for pictures that are too large to run as a whole. */
  parts: { encode: ModelParts; decode: ModelParts };
}

/** Keeps the result of the last of a level's modules under the level's name. */
const tapped =
  (path: string, module: CausalModule): CausalModule =>
  (g, x, piece, out) => {
    const y = module(g, x, piece, out);
    g.tap(path, y);
    return y;
  };

/** The modules of encoder or decoder, and how many of them come before each cut; undefined where there are too few levels. */
interface CutSteps {
  steps: Steps;
  /** Between the part that can run in strips and the rest. */
  stripCut?: number;
  /** Between the parts that run in turns: before a change of height and width, since no norm reads what lies there. Behind one a norm
   *  would follow, whose statistics the convolution before it may find (`measureInConvolutions`): bits would differ. */
  turnCut?: number;
}

/** The level whose size change stands between the part of the model that can run over strips of the picture and the middle
 *  block, which sees all of it: counted from the latents outwards. */
const CUT_LEVEL = 1;

function encoderSteps(w: Weights, config: CausalVaeConfig): CutSteps {
  const { blockOutChannels, layersPerBlock, normGroups: groups, latentChannels, temporalLevels } = config;
  const steps = new Steps(config.inChannels);
  const cuts: Omit<CutSteps, "steps"> = {};
  const last = blockOutChannels.length - 1;
  let channels = blockOutChannels[0]!;
  steps.add(firstConv(w.at("conv_in"), config.inChannels, channels), channels);
  blockOutChannels.forEach((cout, level) => {
    const scope = w.at("down_blocks").at(level);
    for (let i = 0; i < layersPerBlock; i++) {
      const block = causalResBlock(scope.at("resnets").at(i), { cin: channels, cout, groups });
      steps.add(level === last && i === layersPerBlock - 1 ? tapped(scope.path, block) : block, cout);
      channels = cout;
    }
    if (level === last) return;
    const temporal = level >= last - temporalLevels;
    const halve = downsampler(scope.at("downsamplers.0"), channels, temporal);
    if (level === Math.min(1, last - 1)) cuts.turnCut = steps.count;
    steps.addChange("halved", tapped(scope.path, halve), { temporal, channels });
    if (level === last - 1 - CUT_LEVEL) cuts.stripCut = steps.count;
  });
  steps.add(middleBlock(w.at("mid_block"), channels, groups), channels);
  steps.add(lastConv(w, { cin: channels, cout: 2 * latentChannels, groups }), 2 * latentChannels);
  return { steps, ...cuts };
}

function decoderSteps(w: Weights, config: CausalVaeConfig): CutSteps {
  const { blockOutChannels, layersPerBlock, normGroups: groups, temporalLevels } = config;
  const reversed = [...blockOutChannels].reverse();
  const steps = new Steps(config.latentChannels);
  const cuts: Omit<CutSteps, "steps"> = {};
  const last = reversed.length - 1;
  let channels = reversed[0]!;
  steps.add(firstConv(w.at("conv_in"), config.latentChannels, channels), channels);
  steps.add(middleBlock(w.at("mid_block"), channels, groups), channels);
  reversed.forEach((cout, level) => {
    const scope = w.at("up_blocks").at(level);
    for (let i = 0; i <= layersPerBlock; i++) {
      const block = causalResBlock(scope.at("resnets").at(i), { cin: channels, cout, groups });
      steps.add(level === last && i === layersPerBlock ? tapped(scope.path, block) : block, cout);
      channels = cout;
    }
    if (level === last) return;
    if (level === last - 1) cuts.turnCut = steps.count;
    const temporal = level < temporalLevels;
    const double = upsampler(scope.at("upsamplers.0"), channels, temporal);
    steps.addChange("doubled", tapped(scope.path, double), { temporal, channels });
    if (level === CUT_LEVEL - 1 && last > CUT_LEVEL) cuts.stripCut = steps.count;
  });
  steps.add(lastConv(w, { cin: channels, cout: config.outChannels, groups }), config.outChannels);
  return { steps, ...cuts };
}

const wholeClip = (): Piece => ({ begins: true, ends: true, memory: clipMemory() });

/** A module of one picture row after the other, before or behind sections. */
type Pixelwise = (g: Graph, x: Tensor) => Tensor;

/** What comes before the first module and behind the last one. */
interface Ends {
  first?: Pixelwise | undefined;
  last?: Pixelwise | undefined;
}

/** Consecutive sections as one part. channels: of its input. */
function partOf(sections: readonly Section[], channels: number, { first, last }: Ends): ModelPart {
  const forward = pausable(function* (g: Graph, x: Tensor | readonly Tensor[], call: CausalCall = {}) {
    const { framesAtOnce = Number.POSITIVE_INFINITY, piece = wholeClip() } = call;
    let values = "dims" in x ? [x] : x;
    if (first) values = values.map((value) => first(g, value));
    for (const section of sections) values = [yield* runSection(g, values, section, piece, framesAtOnce)];
    return last ? last(g, values[0]!) : values[0]!;
  });
  const framesOf = (count: number, begins: boolean) =>
    sections.reduce((frames, section) => framesAfter(section.frames, frames, begins), count);
  return {
    forward,
    framesOf,
    inputEnds: (count, begins, most) => pieceEnds(sections[0]!.frames, count, begins, most),
    growth: sections.reduce((growth, section) => growth * section.growth, 1),
    channels: [channels, sections[sections.length - 1]!.channels],
  };
}

/** The names of the parts of each cut, in the order of computation. */
const PART_ORDER = {
  encode: { strip: ["strips", "rest"], turn: ["outer", "inner"] },
  decode: { strip: ["rest", "strips"], turn: ["inner", "outer"] },
} as const;

/** The model as a whole, and the parts of each cut. */
function partsOf(
  { steps, stripCut, turnCut }: CutSteps,
  { first, last }: Ends,
  order: (typeof PART_ORDER)[keyof typeof PART_ORDER],
): Omit<ModelParts, "reach"> {
  const all = partOf(steps.sections(0, steps.count, stripCut), steps.channelsBehind(0), { first, last });
  const parts: Omit<ModelParts, "reach"> = { all };
  for (const [cut, [before, behind]] of [
    [stripCut, order.strip],
    [turnCut, order.turn],
  ] as const) {
    if (cut === undefined) continue;
    parts[before] = partOf(steps.sections(0, cut), steps.channelsBehind(0), { first });
    parts[behind] = partOf(steps.sections(cut, steps.count), steps.channelsBehind(cut), { last });
  }
  return parts;
}

/** Rows of latents that reach into a strip of the encoder's outer part, from the outermost convolution inwards. */
function encoderReach({ blockOutChannels, layersPerBlock }: CausalVaeConfig): number {
  const last = blockOutChannels.length - 1;
  let rows = 1 / 2 ** last;
  for (let level = 0; level < last - CUT_LEVEL; level++) rows += (2 * layersPerBlock + 2) / 2 ** (last - level);
  return Math.ceil(rows);
}

/** Rows of latents that reach into a strip of the decoder's outer part. */
function decoderReach({ blockOutChannels, layersPerBlock }: CausalVaeConfig): number {
  const last = blockOutChannels.length - 1;
  let rows = 1 / 2 ** last;
  for (let level = CUT_LEVEL; level <= last; level++) rows += (2 * (layersPerBlock + 1)) / 2 ** level;
  for (let level = CUT_LEVEL; level < last; level++) rows += 1 / 2 ** (level + 1);
  return Math.ceil(rows);
}

/**
 * Makes SeedVR2's autoencoder from its weights. Pauses between its parts. Source: ByteDance-Seed/SeedVR@673b563
 * models/video_vae_v3/modules/attn_video_vae.py.
 *
 * @throws VdError `weights` naming the first key that does not fit, `attr` for what are no weights or no configuration
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { compile, Weights } from "@vd/tensor";
 * import { causalVideoVae, SEEDVR2_VAE_CONFIG } from "@vd/vae-opt";
 *
 * const vae = causalVideoVae(Weights.open("ema_vae_fp16.safetensors"), SEEDVR2_VAE_CONFIG);
 * const plan = await compile(openDevice("cpu"), (g) => {
 *   const z = g.input("latents", [1, 2, 8, 8, 16]);
 *   g.output("frames", vae.decode(g, z, { framesAtOnce: 1 })); // [1,5,64,64,3]
 * });
 * console.log(plan.memory.peakBytes);
 * ```
 */
export const causalVideoVae = pausable(function* (w: Weights, config: CausalVaeConfig): Pausable<CausalVideoVae> {
  requireLayer("causalVideoVae", w, config, {});
  checkCausalVaeConfig(config, "causalVideoVae config");
  const { latentChannels } = config;
  const encoder = encoderSteps(w.at("encoder"), config);
  yield;
  const decoder = decoderSteps(w.at("decoder"), config);
  const last = config.quantConv ? quantConv(w.at("quant_conv"), 2 * latentChannels) : undefined;
  const first = config.postQuantConv ? quantConv(w.at("post_quant_conv"), latentChannels) : undefined;
  yield;
  const encode: ModelParts = { ...partsOf(encoder, { last }, PART_ORDER.encode), reach: encoderReach(config) };
  const decode: ModelParts = { ...partsOf(decoder, { first }, PART_ORDER.decode), reach: decoderReach(config) };
  return { config, encode: encode.all.forward, decode: decode.all.forward, parts: { encode, decode } };
});
