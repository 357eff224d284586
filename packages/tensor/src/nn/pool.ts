import { optional, requireFields, TEXT } from "@vd/kernels-native";
import type { Tensor } from "../tensor";
import { BORDER, EXTENT } from "./layer";
import type { Module } from "./module";

/** A window over frames, height and width. */
export interface PoolConfig {
  kernel: [frames: number, height: number, width: number];
  /** Default: the kernel, as in PyTorch. */
  stride?: [frames: number, height: number, width: number];
  /** Before and behind frames, height and width, at most half of the kernel. Default 0. */
  padding?: [front: number, back: number, top: number, bottom: number, left: number, right: number];
  /** The row's name. */
  name?: string;
}

/** Shape of an average. */
export interface AvgPoolConfig extends PoolConfig {
  /** Averages count padding as zeros; default true. */
  countIncludePad?: boolean;
}

const POOL = { kernel: EXTENT, stride: optional(EXTENT), padding: optional(BORDER), name: optional(TEXT) };

/** The largest number of each window. x: [B,F,H,W,C] → [B,F',H',W',C]. Source: torch.nn.MaxPool2d, MaxPool3d. */
export function maxPool(config: PoolConfig): Module<[x: Tensor]> {
  requireFields("maxPool", config, POOL);
  const { stride = config.kernel, ...rest } = config;
  return (g, x) => g.pool({ mode: "max", x, stride, ...rest });
}

/** The average of each window. x: [B,F,H,W,C] → [B,F',H',W',C]. Source: torch.nn.AvgPool2d, AvgPool3d. */
export function avgPool(config: AvgPoolConfig): Module<[x: Tensor]> {
  requireFields("avgPool", config, POOL);
  const { stride = config.kernel, ...rest } = config;
  return (g, x) => g.pool({ mode: "average", x, stride, ...rest });
}
