import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
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

/** Normalisation of channel groups. x: [B,F,H,W,C] → the same shape, x2's channels behind. Source: torch.nn.GroupNorm. */
export function groupNorm(w: Weights, config: GroupNormConfig): Module<[x: Tensor, call?: GroupNormCall]> {
  const { channels, groups = NUM_GROUPS, eps, act = "none", joinFrames = false } = config;
  const weight = w.tensor("weight", [channels]);
  const bias = w.tensor("bias", [channels]);
  return (g, x, call = {}) => g.groupNorm({ name: w.path, x, weight, bias, groups, eps, act, joinFrames, ...call });
}

/** Normalisation of each token. x: [B,F,S,C] → the same shape. Source: torch.nn.LayerNorm. */
export function layerNorm(w: Weights, { channels, eps = 1e-5 }: { channels: number; eps?: number }): Module {
  const weight = w.tensor("weight", [channels]);
  const bias = w.tensor("bias", [channels]);
  return (g, x) => g.layerNorm({ name: w.path, x, weight, bias, eps });
}
