import { type Graph, type Pausable, type PausableModule, pausable, type Tensor, type Weights } from "@vd/tensor";
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
import type { CausalVaeConfig } from "./config";
import { clipMemory, type Piece } from "./frame-memory";
import { framesAfter, runSection, type Section, Sections } from "./pieces";

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
  /** x: [1,F,H,W,C], as the part before gives it. */
  forward: PausableModule<[x: Tensor, call?: CausalCall]>;
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

/** Consecutive sections, and how many of them come before the cut; undefined where there is none. */
interface CutSections {
  sections: Section[];
  cut?: number;
  /** Channels of the first section's input. */
  channels: number;
}

function encoderSections(w: Weights, config: CausalVaeConfig): CutSections {
  const { blockOutChannels, layersPerBlock, normGroups: groups, latentChannels, temporalLevels } = config;
  const sections = new Sections();
  const last = blockOutChannels.length - 1;
  let before: number | undefined;
  let channels = blockOutChannels[0]!;
  sections.add(firstConv(w.at("conv_in"), config.inChannels, channels));
  blockOutChannels.forEach((cout, level) => {
    const scope = w.at("down_blocks").at(level);
    for (let i = 0; i < layersPerBlock; i++) {
      const block = causalResBlock(scope.at("resnets").at(i), { cin: channels, cout, groups });
      sections.add(level === last && i === layersPerBlock - 1 ? tapped(scope.path, block) : block);
      channels = cout;
    }
    if (level === last) return;
    const temporal = level >= last - temporalLevels;
    const halve = downsampler(scope.at("downsamplers.0"), channels, temporal);
    const cut = level === last - 1 - CUT_LEVEL;
    sections.addHalving(tapped(scope.path, halve), { temporal, cut, channels });
    if (cut) before = sections.all.length;
  });
  sections.add(middleBlock(w.at("mid_block"), channels, groups));
  sections.add(lastConv(w, { cin: channels, cout: 2 * latentChannels, groups }));
  sections.end("same", 2 * latentChannels);
  return { sections: sections.all, channels: config.inChannels, ...(before === undefined ? {} : { cut: before }) };
}

/** The level whose size change stands between the part of the model that can run over strips of the picture and the middle
 *  block, which sees all of it: counted from the latents outwards. */
const CUT_LEVEL = 1;

function decoderSections(w: Weights, config: CausalVaeConfig): CutSections {
  const { blockOutChannels, layersPerBlock, normGroups: groups, temporalLevels } = config;
  const sections = new Sections();
  const reversed = [...blockOutChannels].reverse();
  const last = reversed.length - 1;
  let channels = reversed[0]!;
  sections.add(firstConv(w.at("conv_in"), config.latentChannels, channels));
  sections.add(middleBlock(w.at("mid_block"), channels, groups));
  reversed.forEach((cout, level) => {
    const scope = w.at("up_blocks").at(level);
    for (let i = 0; i <= layersPerBlock; i++) {
      const block = causalResBlock(scope.at("resnets").at(i), { cin: channels, cout, groups });
      sections.add(level === last && i === layersPerBlock ? tapped(scope.path, block) : block);
      channels = cout;
    }
    if (level === last) return;
    const temporal = level < temporalLevels;
    const double = upsampler(scope.at("upsamplers.0"), channels, temporal);
    sections.addDoubling(tapped(scope.path, double), { temporal, cut: level === CUT_LEVEL - 1, channels });
  });
  sections.add(lastConv(w, { cin: channels, cout: config.outChannels, groups }));
  sections.end("same", config.outChannels);
  return { sections: sections.all, channels: config.latentChannels, ...(last > CUT_LEVEL ? { cut: CUT_LEVEL } : {}) };
}

const wholeClip = (): Piece => ({ begins: true, ends: true, memory: clipMemory() });

/** A module of one picture row after the other, before or behind sections. */
type Pixelwise = (g: Graph, x: Tensor) => Tensor;

/** Consecutive sections as one part. first: what comes before them, last: behind them. */
function partOf(
  sections: readonly Section[],
  channels: number,
  { first, last }: { first?: Pixelwise | undefined; last?: Pixelwise | undefined } = {},
): ModelPart {
  const forward = pausable(function* (g: Graph, x: Tensor, call: CausalCall = {}) {
    const { framesAtOnce = Number.POSITIVE_INFINITY, piece = wholeClip() } = call;
    let value = first ? first(g, x) : x;
    for (const section of sections) value = yield* runSection(g, value, section, piece, framesAtOnce);
    return last ? last(g, value) : value;
  });
  const framesOf = (count: number, begins: boolean) =>
    sections.reduce((frames, section) => framesAfter(section.frames, frames, begins), count);
  return {
    forward,
    framesOf,
    growth: sections.reduce((growth, section) => growth * section.growth, 1),
    channels: [channels, sections[sections.length - 1]!.channels],
  };
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
 * @throws VdError `weights` naming the first key that does not fit
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
  const { latentChannels } = config;
  const encoder = encoderSections(w.at("encoder"), config);
  yield;
  const decoder = decoderSections(w.at("decoder"), config);
  const last = config.quantConv ? quantConv(w.at("quant_conv"), 2 * latentChannels) : undefined;
  const first = config.postQuantConv ? quantConv(w.at("post_quant_conv"), latentChannels) : undefined;
  yield;
  const encode: ModelParts = {
    all: partOf(encoder.sections, encoder.channels, { last }),
    reach: encoderReach(config),
  };
  if (encoder.cut !== undefined) {
    const outer = encoder.sections.slice(0, encoder.cut);
    encode.strips = partOf(outer, encoder.channels);
    encode.rest = partOf(encoder.sections.slice(encoder.cut), outer[outer.length - 1]!.channels, { last });
  }
  const decode: ModelParts = {
    all: partOf(decoder.sections, decoder.channels, { first }),
    reach: decoderReach(config),
  };
  if (decoder.cut !== undefined) {
    const inner = decoder.sections.slice(0, decoder.cut);
    decode.rest = partOf(inner, decoder.channels, { first });
    decode.strips = partOf(decoder.sections.slice(decoder.cut), inner[inner.length - 1]!.channels);
  }
  return { config, encode: encode.all.forward, decode: decode.all.forward, parts: { encode, decode } };
});
