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
import { runSection, type Section, Sections } from "./pieces";

/** How a clip, or a piece of one, goes through encoder or decoder. */
export interface CausalCall {
  /** Frames that the layers between two changes of their number compute at a time; fewer need less memory, the result is
   *  the same. Default: all. */
  framesAtOnce?: number | undefined;
  /** Which piece of a clip it is; default: the whole clip. */
  piece?: Piece | undefined;
}

/** SeedVR2's autoencoder as forward functions of one clip. */
export interface CausalVideoVae {
  config: CausalVaeConfig;
  /** x: [1,F,H,W,3] in [-1,1] → moments [1,(F−1)/f+1,H/s,W/s,2·latentChannels]: means, then log-variances. A piece that does
   *  not begin a clip has a multiple of f frames and gives F/f. */
  encode: PausableModule<[x: Tensor, call?: CausalCall]>;
  /** z: [1,F,h,w,latentChannels] → frames [1,f·(F−1)+1,s·h,s·w,3]; f·F of a piece that does not begin a clip. */
  decode: PausableModule<[z: Tensor, call?: CausalCall]>;
}

/** Keeps the result of the last of a level's modules under the level's name. */
const tapped =
  (path: string, module: CausalModule): CausalModule =>
  (g, x, piece, out) => {
    const y = module(g, x, piece, out);
    g.tap(path, y);
    return y;
  };

function encoderSections(w: Weights, config: CausalVaeConfig): Section[] {
  const { blockOutChannels, layersPerBlock, normGroups: groups, latentChannels, temporalLevels } = config;
  const sections = new Sections();
  const last = blockOutChannels.length - 1;
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
    sections.addHalving(tapped(scope.path, halve), temporal, channels);
  });
  sections.add(middleBlock(w.at("mid_block"), channels, groups));
  sections.add(lastConv(w, { cin: channels, cout: 2 * latentChannels, groups }));
  sections.end("same", 2 * latentChannels);
  return sections.all;
}

function decoderSections(w: Weights, config: CausalVaeConfig): Section[] {
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
    sections.addDoubling(tapped(scope.path, double), temporal, channels);
  });
  sections.add(lastConv(w, { cin: channels, cout: config.outChannels, groups }));
  sections.end("same", config.outChannels);
  return sections.all;
}

const wholeClip = (): Piece => ({ begins: true, ends: true, memory: clipMemory() });

function* runSections(g: Graph, x: Tensor, sections: readonly Section[], call: CausalCall): Pausable<Tensor> {
  const { framesAtOnce = Number.POSITIVE_INFINITY, piece = wholeClip() } = call;
  let value = x;
  for (const section of sections) value = yield* runSection(g, value, section, piece, framesAtOnce);
  return value;
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
  const quantise = config.quantConv ? quantConv(w.at("quant_conv"), 2 * latentChannels) : undefined;
  const dequantise = config.postQuantConv ? quantConv(w.at("post_quant_conv"), latentChannels) : undefined;
  yield;
  const encode = pausable(function* (g: Graph, x: Tensor, call: CausalCall = {}) {
    const y = yield* runSections(g, x, encoder, call);
    return quantise ? quantise(g, y) : y;
  });
  const decode = pausable(function* (g: Graph, z: Tensor, call: CausalCall = {}) {
    return yield* runSections(g, dequantise ? dequantise(g, z) : z, decoder, call);
  });
  return { config, encode, decode };
});
