import { requireFields, TEXT } from "@vd/kernels-native";
import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { CONV, LINEAR, requireLayer } from "./layer";
import type { EpilogueOptions, Module } from "./module";

/** Size around [frames, height, width]. */
type Padding = [front: number, back: number, top: number, bottom: number, left: number, right: number];
type Extent = [frames: number, height: number, width: number];

/** Shape of a convolution over [frames, height, width]. */
export interface ConvConfig {
  cin: number;
  cout: number;
  kernel: Extent;
  /** Default 1. */
  stride?: Extent;
  /** Default: kernel/2 on each side, which keeps the size. */
  padding?: Padding;
  /** What pads in frames; default zeros, else the first and the last frame again. */
  framePadding?: "zeros" | "replicate";
  /** Groups of channels that do not mix, cin for a depthwise convolution; default 1. */
  groups?: number;
  /** Nearest-2x in height and width first. */
  upsample?: boolean;
  /** Whether the checkpoint has a bias; default true. */
  bias?: boolean;
  /** The checkpoint's filter has no frame axis: [K,C/groups,R,S]. Default: true when the kernel spans one frame. */
  flat?: boolean;
}

/** Call-time options of a convolution. */
export interface ConvCall extends EpilogueOptions {
  /** Replaces the configured padding, e.g. where a part of a clip has real neighbours. */
  padding?: Padding | undefined;
  /** Frames in front of x, [B,N,H,W,cin]: the padding lies before them. */
  past?: Tensor | undefined;
}

const half = (size: number) => Math.floor(size / 2);

/** The filter's shape in the checkpoint and in the graph. */
function filterDims({ cin, cout, kernel, groups = 1, flat = kernel[0] === 1 }: ConvConfig) {
  const [t, r, s] = kernel;
  const channels = cin / groups;
  return { stored: flat ? [cout, channels, r, s] : [cout, channels, t, r, s], dims: [cout, channels, t, r, s] };
}

/** A convolution with given weights; name: of its rows. */
function convWith(
  name: string,
  { weight, bias }: { weight: Tensor; bias?: Tensor | undefined },
  config: ConvConfig,
): Module<[x: Tensor, call?: ConvCall]> {
  const { kernel, stride = [1, 1, 1], upsample = false, groups = 1, framePadding = "zeros" } = config;
  const [t, r, s] = kernel;
  const padding: Padding = config.padding ?? [half(t), half(t), half(r), half(r), half(s), half(s)];
  const filter = { ...weight, dims: filterDims(config).dims };
  const fixed = { name, weight: filter, bias, stride, framePadding, groups, upsample };
  return (g, x, call = {}) => g.conv({ x, ...fixed, ...call, padding: call.padding ?? padding });
}

/** A convolution with bias. x: [B,F,H,W,cin] → [B,F',H',W',cout]. Source: torch.nn.Conv2d, Conv3d. */
export function conv(w: Weights, config: ConvConfig): Module<[x: Tensor, call?: ConvCall]> {
  requireLayer("conv", w, config, CONV);
  const weight = w.tensor("weight", filterDims(config).stored);
  const bias = (config.bias ?? true) ? w.tensor("bias", [config.cout]) : undefined;
  return convWith(w.path, { weight, bias }, config);
}

/**
 * A convolution in which no frame sees a later one. All its padding in frames lies in front of the first chunk of a clip; a later
 * chunk takes the last frames of x's that came before instead, as `past`: kernel − 1 of them where the stride is 1. Chunks then give
 * the same bits as the whole clip. x: [B,F,H,W,cin] → [B,F',H',W',cout]. Source: https://arxiv.org/abs/2310.05737.
 *
 * @example
 * ```ts
 * import { causalConv, layoutGraph, type Weights } from "@vd/tensor";
 *
 * const layoutOf = (weights: Weights, first: boolean) =>
 *   layoutGraph((g) => {
 *     const layer = causalConv(weights.at("conv"), { cin: 16, cout: 16, kernel: [3, 3, 3], framePadding: "replicate" });
 *     const past = first ? undefined : g.input("past", [1, 2, 32, 32, 16]);
 *     g.output("y", layer(g, g.input("x", [1, 4, 32, 32, 16]), { past }));
 *   });
 * ```
 */
export function causalConv(w: Weights, config: ConvConfig): Module<[x: Tensor, call?: ConvCall]> {
  requireLayer("causalConv", w, config, CONV);
  const [t, r, s] = config.kernel;
  const [, , ...sides] = config.padding ?? [0, 0, half(r), half(r), half(s), half(s)];
  const layer = conv(w, config);
  return (g, x, call = {}) => layer(g, x, { ...call, padding: call.padding ?? [call.past ? 0 : t - 1, 0, ...sides] });
}

/** Shape of a transposed convolution. */
export interface ConvTransposeConfig {
  cin: number;
  cout: number;
  /** Whether the checkpoint has a bias; default true. */
  bias?: boolean;
}

/** A transposed convolution of 4x4 filters, stride 2 and padding 1, which doubles height and width. The checkpoint's filter is
 *  [cin,cout,4,4]. x: [B,F,H,W,cin] → [B,F,2H,2W,cout]. Source: torch.nn.ConvTranspose2d. */
export function convTranspose(w: Weights, config: ConvTransposeConfig): Module<[x: Tensor, call?: EpilogueOptions]> {
  requireLayer("convTranspose", w, config, LINEAR);
  const { cin, cout, bias = true } = config;
  const weight = { ...w.tensor("weight", [cin, cout, 4, 4]), dims: [cin, cout, 1, 4, 4] };
  const shift = bias ? w.tensor("bias", [cout]) : undefined;
  const [stride, padding]: [Extent, Padding] = [
    [1, 2, 2],
    [0, 0, 1, 1, 1, 1],
  ];
  const shape = { transposed: true, stride, padding };
  return (g, x, call = {}) => g.conv({ name: w.path, x, weight, bias: shift, ...shape, ...call });
}

/** Shape of a convolution with a batch norm and an activation behind it. */
export interface ConvNormActConfig extends ConvConfig {
  /** Whether the convolution has a bias of its own; default false. */
  bias?: boolean;
  /** Added to the variance; default 1e-5. */
  eps?: number;
  /** Default silu. */
  act?: NonNullable<EpilogueOptions["act"]>;
  /** Scopes of both layers in the checkpoint; default `conv` and `bn`. */
  names?: { conv: string; norm: string };
}

/** Convolution, batch norm in evaluation and activation in one launch: the norm is folded into filters and bias when the weights
 *  are loaded. x: [B,F,H,W,cin] → [B,F',H',W',cout]. Source: torch.nn.Conv2d, BatchNorm2d and SiLU in sequence, as timm's
 *  ConvNormAct. */
export function convNormAct(w: Weights, config: ConvNormActConfig): Module<[x: Tensor, call?: ConvCall]> {
  requireLayer("convNormAct", w, config, CONV);
  if (config.names !== undefined) requireFields("convNormAct] [names", config.names, { conv: TEXT, norm: TEXT });
  const { bias = false, eps = 1e-5, act = "silu", names = { conv: "conv", norm: "bn" } } = config;
  const folded = w.foldBatchNorm(names, { dims: filterDims(config).stored, bias, eps });
  const layer = convWith(w.at(names.conv).path, folded, config);
  return (g, x, call = {}) => layer(g, x, { act, ...call });
}
