import { type Graph, groupNorm, pixels, reshape, type Tensor, tokens, type Weights } from "@vd/tensor";
import { imageAttention } from "../temporal-decoder/attention";
import { type CausalConv, causalConv, copyOf, type FrameSource } from "./causal-conv";
import type { Piece } from "./frame-memory";

/** Added to the variance by all group norms. Source: ByteDance-Seed/SeedVR models/video_vae_v3/modules/attn_video_vae.py. */
export const NORM_EPS = 1e-6;

/** Records a part of the model for a piece of a clip; `out` is where the result must be written. x: [1,F,H,W,C]. */
export type CausalModule = (g: Graph, x: Tensor, piece: Piece, out?: Tensor) => Tensor;

/** Shape of a residual block. */
export interface CausalResBlockConfig {
  cin: number;
  cout: number;
  groups: number;
}

/** A 1×1×1 convolution as the matrix product that it is: [K,C,1,1,1]. */
function pixelwise(w: Weights, cin: number, cout: number): (g: Graph, x: Tensor) => Tensor {
  const weight = reshape(w.tensor("weight", [cout, cin, 1, 1, 1]), [cout, cin]);
  const bias = w.tensor("bias", [cout]);
  return (g, x) => pixels(g.linear({ name: w.path, x: tokens(x), weight, bias }), x.dims[2]!, x.dims[3]!);
}

/** The convolutions `quant_conv` and `post_quant_conv`. x: [1,F,H,W,C] → the same shape. */
export const quantConv = (w: Weights, channels: number): ((g: Graph, x: Tensor) => Tensor) =>
  pixelwise(w, channels, channels);

/** A norm of each frame and SiLU, written where a convolution wants its input. */
function normalised(w: Weights, channels: number, groups: number): (x: Tensor, piece: Piece) => FrameSource {
  const norm = groupNorm(w, { channels, groups, eps: NORM_EPS, act: "silu" });
  return (x, piece) => ({
    dims: x.dims,
    write: (g, out) => {
      norm(g, x, { out, stats: piece.statistics?.(g, w.path, x, groups) });
    },
  });
}

/** GroupNorm, SiLU, causal convolution, twice, with a skip. x: [1,F,H,W,cin] → [1,F,H,W,cout].
 *  Source: ByteDance-Seed/SeedVR models/video_vae_v3/modules/attn_video_vae.py ResnetBlock3D. */
export function causalResBlock(w: Weights, { cin, cout, groups }: CausalResBlockConfig): CausalModule {
  const norm1 = normalised(w.at("norm1"), cin, groups);
  const conv1 = causalConv(w.at("conv1"), { cin, cout, kernel: [3, 3, 3] });
  const norm2 = normalised(w.at("norm2"), cout, groups);
  const conv2 = causalConv(w.at("conv2"), { cin: cout, cout, kernel: [3, 3, 3] });
  const project = cin === cout ? undefined : pixelwise(w.at("conv_shortcut"), cin, cout);
  return (g, x, piece, out) => {
    const h = conv1(g, norm1(x, piece), piece);
    const y = conv2(g, norm2(h, piece), piece, { residual: project ? project(g, x) : x, out });
    g.tap(w.path, y);
    return y;
  };
}

/** A causal convolution 3×3×3 of frames that must be copied for it: the first one of encoder and decoder. */
export function firstConv(w: Weights, cin: number, cout: number): CausalModule {
  const convolve = causalConv(w, { cin, cout, kernel: [3, 3, 3] });
  return (g, x, piece, out) => {
    const y = convolve(g, copyOf(x), piece, { out });
    g.tap(w.path, y);
    return y;
  };
}

/** GroupNorm, SiLU and causal convolution at the end of encoder and decoder, `conv_norm_out` and `conv_out` below `w`. */
export function lastConv(w: Weights, { cin, cout, groups }: CausalResBlockConfig): CausalModule {
  const norm = normalised(w.at("conv_norm_out"), cin, groups);
  const convolve = causalConv(w.at("conv_out"), { cin, cout, kernel: [3, 3, 3] });
  return (g, x, piece, out) => convolve(g, norm(x, piece), piece, { out });
}

/** Halves height and width, and frames where `temporal`: of F frames (F − 1)/2 + 1 remain at a clip's beginning, F/2 later.
 *  Zeros at the right and bottom only. Source: the same file, Downsample3D. */
export function downsampler(w: Weights, channels: number, temporal: boolean): CausalModule {
  const convolve: CausalConv = causalConv(w.at("conv"), {
    cin: channels,
    cout: channels,
    kernel: [temporal ? 3 : 1, 3, 3],
    stride: [temporal ? 2 : 1, 2, 2],
    padding: [0, 1, 0, 1],
  });
  const inPlace = (g: Graph, x: Tensor, piece: Piece, out?: Tensor) => convolve(g, copyOf(x), piece, { out });
  return (g, x, piece, out) => {
    const y = inPlace(g, x, piece, out);
    g.tap(w.path, y);
    return y;
  };
}

/** Doubles height and width, and frames where `temporal`, by moving channels; the clip's second frame is left out then.
 *  Source: the same file, Upsample3D, which takes it from https://arxiv.org/abs/2310.05737 (MAGVIT-v2). */
export function upsampler(w: Weights, channels: number, temporal: boolean): CausalModule {
  const frameGrowth = temporal ? 2 : 1;
  const scope = w.at("upscale_conv");
  const expand = pixelwise(scope, channels, 4 * frameGrowth * channels);
  const convolve = causalConv(w.at("conv"), { cin: channels, cout: channels, kernel: [3, 3, 3] });
  return (g, x, piece, out) => {
    const expanded = expand(g, x);
    g.tap(scope.path, expanded);
    const [, frames, height, width] = x.dims as [number, number, number, number];
    const dropsSecond = temporal && piece.begins;
    const source: FrameSource = {
      dims: [1, frameGrowth * frames - Number(dropsSecond), 2 * height, 2 * width, channels],
      dropsSecond,
      write: (graph, place) => {
        const block = [frameGrowth, 2, 2] as const;
        graph.depthToSpace({ name: w.path, x: expanded, block: [...block], order: "channels_last", out: place });
      },
    };
    return convolve(g, source, piece, { out });
  };
}

/** The middle block: a residual block, attention within each frame, another residual block. x: [1,F,H,W,C] → the same shape. */
export function middleBlock(w: Weights, channels: number, groups: number): CausalModule {
  const [first, second] = [0, 1].map((i) =>
    causalResBlock(w.at("resnets").at(i), { cin: channels, cout: channels, groups }),
  ) as [CausalModule, CausalModule];
  const attention = imageAttention(w.at("attentions.0"), channels, { groups });
  return (g, x, piece, out) => {
    const y = second(g, attention(g, first(g, x, piece)), piece, out);
    g.tap(w.path, y);
    return y;
  };
}
