import { COUNT } from "@vd/kernels-native";
import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { EPS, MAYBE, requireLayer } from "./layer";
import type { Module } from "./module";

/** Shape of a group norm. */
export interface GroupNormConfig {
  channels: number;
  /** Default {@link NUM_GROUPS}. */
  groups?: number;
  eps: number;
  act?: "none" | "silu";
  /** Statistics over frames too. */
  joinFrames?: boolean;
}

/** Call-time options of a group norm. */
export interface GroupNormCall {
  /** Further channels after those of x. */
  x2?: Tensor | undefined;
  /** Statistics computed before, [B,1|F,groups,2]. */
  stats?: Tensor | undefined;
  act?: "none" | "silu" | undefined;
  out?: Tensor | undefined;
}

/** Groups of every GroupNorm of the models here; as in diffusers, `norm_num_groups`. */
export const NUM_GROUPS = 32;

const GROUP_NORM = { channels: COUNT, groups: MAYBE.count, eps: EPS, joinFrames: MAYBE.flag };

/** Normalisation of channel groups. x: [B,F,H,W,C] → the same shape, x2's channels behind. Source: torch.nn.GroupNorm. */
export function groupNorm(w: Weights, config: GroupNormConfig): Module<[x: Tensor, call?: GroupNormCall]> {
  requireLayer("groupNorm", w, config, GROUP_NORM);
  const { channels, groups = NUM_GROUPS, eps, act = "none", joinFrames = false } = config;
  const weight = w.tensor("weight", [channels]);
  const bias = w.tensor("bias", [channels]);
  return (g, x, call = {}) => g.groupNorm({ name: w.path, x, weight, bias, groups, eps, act, joinFrames, ...call });
}

/** Shape of a norm of tokens over their channels. */
export interface TokenNormConfig {
  channels: number;
  /** Default 1e-5 for {@link layerNorm}, 1e-6 for {@link rmsNorm}. */
  eps?: number;
  /** Whether the checkpoint has a weight, and for a layer norm a bias; default true. Norms that are modulated often have none. */
  affine?: boolean;
  /** Of a layer norm with a weight: whether the checkpoint has a bias; default true. */
  bias?: boolean;
}

const CHANNEL_NORM = { channels: COUNT, eps: MAYBE.eps, affine: MAYBE.flag, bias: MAYBE.flag };

/** What adaptive norms do to the normalised tokens: times 1 + scale, plus shift. Both are [1|B,1|F,1|S,C]. */
export interface Modulation {
  scale?: Tensor | undefined;
  shift?: Tensor | undefined;
}

/** Normalisation of each token, optionally modulated. x: [B,F,S,C] → the same shape. Source: torch.nn.LayerNorm;
 *  https://arxiv.org/abs/2212.09748 (adaLN). */
export function layerNorm(w: Weights, config: TokenNormConfig): Module<[x: Tensor, modulation?: Modulation]> {
  requireLayer("layerNorm", w, config, CHANNEL_NORM);
  const { channels, eps = 1e-5, affine = true, bias = true } = config;
  const weight = affine ? w.tensor("weight", [channels]) : undefined;
  const summand = affine && bias ? w.tensor("bias", [channels]) : undefined;
  return (g, x, modulation = {}) => g.layerNorm({ name: w.path, x, weight, bias: summand, eps, ...modulation });
}

/** Division of each token by the root mean square of its channels, optionally modulated. x: [B,F,S,C] → the same shape. Source:
 *  torch.nn.RMSNorm. */
export function rmsNorm(w: Weights, config: TokenNormConfig): Module<[x: Tensor, modulation?: Modulation]> {
  requireLayer("rmsNorm", w, config, CHANNEL_NORM);
  const { channels, eps = 1e-6, affine = true } = config;
  const weight = affine ? w.tensor("weight", [channels]) : undefined;
  return (g, x, modulation = {}) => g.rmsNorm({ name: w.path, x, weight, eps, ...modulation });
}

/** Shape of a batch norm. */
export interface BatchNormConfig {
  channels: number;
  /** Default 1e-5. */
  eps?: number;
  /** Whether the checkpoint has weight and bias; default true. */
  affine?: boolean;
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu";
}

/** Normalisation of channels by running statistics, as in evaluation. x: [B,F,H,W,C] → the same shape. Behind a convolution
 *  foldBatchNorm makes one of both. Source: torch.nn.BatchNorm2d, BatchNorm3d. */
export function batchNorm(w: Weights, config: BatchNormConfig): Module {
  requireLayer("batchNorm", w, config, CHANNEL_NORM);
  const { channels, eps = 1e-5, affine = true, act = "none" } = config;
  const mean = w.tensor("running_mean", [channels]);
  const variance = w.tensor("running_var", [channels]);
  const weight = affine ? w.tensor("weight", [channels]) : undefined;
  const bias = affine ? w.tensor("bias", [channels]) : undefined;
  return (g, x) => g.batchNorm({ name: w.path, x, mean, variance, weight, bias, eps, act });
}
