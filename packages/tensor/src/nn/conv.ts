import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import type { EpilogueOptions, Module } from "./module";

/** Zeros around [frames, height, width]. */
type Padding = [front: number, back: number, top: number, bottom: number, left: number, right: number];

/** Shape of a convolution over [frames, height, width]. */
export interface ConvConfig {
  cin: number;
  cout: number;
  kernel: [frames: number, height: number, width: number];
  /** Default 1. */
  stride?: [frames: number, height: number, width: number];
  /** Default: kernel/2 on each side, which keeps the size. */
  padding?: Padding;
  /** Nearest-2x in height and width first. */
  upsample?: boolean;
  /** Whether the checkpoint has a bias; default true. */
  bias?: boolean;
  /** The checkpoint's filter has no frame axis: [K,C,R,S]. Default: true when the kernel spans one frame. */
  flat?: boolean;
}

/** Call-time options of a convolution. */
export interface ConvCall extends EpilogueOptions {
  /** Replaces the configured padding, e.g. where a part of a clip has real neighbours. */
  padding?: Padding | undefined;
}

const half = (size: number) => Math.floor(size / 2);

/** A convolution with bias. x: [B,F,H,W,cin] → [B,F',H',W',cout]. Source: torch.nn.Conv2d, Conv3d. */
export function conv(w: Weights, config: ConvConfig): Module<[x: Tensor, call?: ConvCall]> {
  const { cin, cout, kernel, stride = [1, 1, 1], bias = true, upsample = false, flat = kernel[0] === 1 } = config;
  const [t, r, s] = kernel;
  const padding = config.padding ?? [half(t), half(t), half(r), half(r), half(s), half(s)];
  const stored = w.tensor("weight", flat ? [cout, cin, r, s] : [cout, cin, t, r, s]);
  const weight = { ...stored, dims: [cout, cin, t, r, s] };
  const shift = bias ? w.tensor("bias", [cout]) : undefined;
  return (g, x, call = {}) => g.conv({ name: w.path, x, weight, bias: shift, stride, padding, upsample, ...call });
}
