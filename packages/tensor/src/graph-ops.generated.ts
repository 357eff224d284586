// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.
import type { OpId } from "@vd/kernels-native/contract";
import type { CallOptions, Tensor } from "./tensor";

/** Arguments of {@link GraphOps.attention}. */
export interface AttentionOptions extends CallOptions {
  /** queries, heads side by side [B,F,S,E] f32|f16|bf16 */
  q: Tensor;
  /** keys; over space one frame serves all frames; over time Fk is the number of keys and L = S [B,Fk,L,E] f32|f16|bf16 */
  k: Tensor;
  /** values [B,Fk,L,E] f32|f16|bf16 */
  v: Tensor;
  /** Q queries and K keys of the axis, the same for all its sequences: floats are added to the scaled scores, a u8 of 0 forbids [1|B,1|heads,1|Q,K] f32|f16|bf16|u8 */
  mask?: Tensor | undefined;
  /** offsets of packed sequences along the axis, N + 1 of them, the same in every frame (space) or token (time) [N1] i32 */
  cuQ?: Tensor | undefined;
  /** offsets of packed sequences among the keys [N1] i32 */
  cuK?: Tensor | undefined;
  /** each head of q is divided by its root mean square and multiplied by this [E/heads] f32|f16|bf16 */
  normQ?: Tensor | undefined;
  /** the same for k [E/heads] f32|f16|bf16 */
  normK?: Tensor | undefined;
  /** cosine and sine of R/2 angles per query, by which pairs of the first R channels of each head are rotated, after the norm [Q,R] f32 */
  rotaryQ?: Tensor | undefined;
  /** the same per key [K,R] f32 */
  rotaryK?: Tensor | undefined;
  /** what a sequence runs over; default "space" */
  axis?: "space" | "time" | undefined;
  /** number of heads; E is a multiple */
  heads: number;
  /** factor of the scores, usually 1/sqrt(head dimension) */
  scale: number;
  /** row r sees keys 0..r of its sequence, aligned top-left; default false */
  causal?: boolean | undefined;
  /** a query sees keys that lie less than so many frames, rows and columns away in its sequence; 0: however many; default [0,0,0] */
  window?: readonly [number, number, number] | undefined;
  /** rows and columns of a frame, for `window`: element i of a sequence lies in frame i / (rows · columns). With 1 by 1 every element is a frame, so the window's first number counts elements; default [1,1] */
  grid?: readonly [number, number] | undefined;
  /** channels that are rotated together: 2i and 2i + 1, or i and i + R/2; default "adjacent" */
  pairs?: "adjacent" | "halves" | undefined;
  /** added to the mean square of a head; default 0.000001 */
  normEps?: number | undefined;
}

/** Arguments of {@link GraphOps.attentionBackward}. */
export interface AttentionBackwardOptions extends CallOptions {
  /** queries, heads side by side [B,F,S,E] f32|f16|bf16 */
  q: Tensor;
  /** keys; over space one frame serves all frames; over time Fk is the number of keys and L = S [B,Fk,L,E] f32|f16|bf16 */
  k: Tensor;
  /** values [B,Fk,L,E] f32|f16|bf16 */
  v: Tensor;
  /** result of attention [B,F,S,E] f32|f16|bf16 */
  y: Tensor;
  /** its log-sum-exp [B,F,heads,S] f32 */
  lse: Tensor;
  /** gradient by y [B,F,S,E] f32|f16|bf16 */
  dy: Tensor;
  /** Q queries and K keys of the axis, the same for all its sequences: floats are added to the scaled scores, a u8 of 0 forbids [1|B,1|heads,1|Q,K] f32|f16|bf16|u8 */
  mask?: Tensor | undefined;
  /** offsets of packed sequences along the axis, N + 1 of them, the same in every frame (space) or token (time) [N1] i32 */
  cuQ?: Tensor | undefined;
  /** offsets of packed sequences among the keys [N1] i32 */
  cuK?: Tensor | undefined;
  /** what a sequence runs over; default "space" */
  axis?: "space" | "time" | undefined;
  /** number of heads; E is a multiple */
  heads: number;
  /** factor of the scores, usually 1/sqrt(head dimension) */
  scale: number;
  /** row r sees keys 0..r of its sequence, aligned top-left; default false */
  causal?: boolean | undefined;
  /** a query sees keys that lie less than so many frames, rows and columns away in its sequence; 0: however many; default [0,0,0] */
  window?: readonly [number, number, number] | undefined;
  /** rows and columns of a frame, for `window`: element i of a sequence lies in frame i / (rows · columns). With 1 by 1 every element is a frame, so the window's first number counts elements; default [1,1] */
  grid?: readonly [number, number] | undefined;
}

/** Arguments of {@link GraphOps.attentionF8}. */
export interface AttentionF8Options extends CallOptions {
  /** codes of queries, heads side by side [B,F,S,E] f8e4m3 */
  q: Tensor;
  /** codes of keys; over space one frame serves all frames; over time Fk is the number of keys and L = S [B,Fk,L,E] f8e4m3 */
  k: Tensor;
  /** codes of values [B,Fk,L,E] f8e4m3 */
  v: Tensor;
  /** what codes of q stand for multiples of; finite and positive [1,1,1,1] f32 */
  qScale: Tensor;
  /** what codes of k stand for multiples of; finite and positive [1,1,1,1] f32 */
  kScale: Tensor;
  /** what codes of v stand for multiples of; finite and positive [1,1,1,1] f32 */
  vScale: Tensor;
  /** what a sequence runs over; default "space" */
  axis?: "space" | "time" | undefined;
  /** number of heads; E is a multiple */
  heads: number;
  /** factor of the scores, usually 1/sqrt(head dimension) */
  scale: number;
}

/** Arguments of {@link GraphOps.attentionF8Codes}. */
export interface AttentionF8CodesOptions extends CallOptions {
  /** codes of queries, heads side by side [B,F,S,E] f8e4m3 */
  q: Tensor;
  /** codes of keys; over space one frame serves all frames; over time Fk is the number of keys and L = S [B,Fk,L,E] f8e4m3 */
  k: Tensor;
  /** codes of values [B,Fk,L,E] f8e4m3 */
  v: Tensor;
  /** what codes of q stand for multiples of; finite and positive [1,1,1,1] f32 */
  qScale: Tensor;
  /** what codes of k stand for multiples of; finite and positive [1,1,1,1] f32 */
  kScale: Tensor;
  /** what codes of v stand for multiples of; finite and positive [1,1,1,1] f32 */
  vScale: Tensor;
  /** what codes stand for multiples of; finite and positive [1,1,1,1] f32 */
  yScale: Tensor;
  /** what a sequence runs over; default "space" */
  axis?: "space" | "time" | undefined;
  /** number of heads; E is a multiple */
  heads: number;
  /** factor of the scores, usually 1/sqrt(head dimension) */
  scale: number;
}

/** Arguments of {@link GraphOps.attentionQ8}. */
export interface AttentionQ8Options extends CallOptions {
  /** queries, heads side by side [B,F,S,E] f32|f16|bf16 */
  q: Tensor;
  /** keys; one frame may serve all frames [B,Fk,L,E] f32|f16|bf16 */
  k: Tensor;
  /** values [B,Fk,L,E] f32|f16|bf16 */
  v: Tensor;
  /** number of heads; E is a multiple */
  heads: number;
  /** factor of the scores, usually 1/sqrt(head dimension) */
  scale: number;
  /** what q and k are rounded to; default "f8e4m3" */
  scores?: "f8e4m3" | "i8" | undefined;
  /** what v is rounded to; full: it is not; default "f8e4m3" */
  values?: "f8e4m3" | "full" | undefined;
}

/** Arguments of {@link GraphOps.batchNorm}. */
export interface BatchNormOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** running mean [C] f32|f16|bf16 */
  mean: Tensor;
  /** running variance, not negative [C] f32|f16|bf16 */
  variance: Tensor;
  /** learned factor; default 1 [C] f32|f16|bf16 */
  weight?: Tensor | undefined;
  /** learned summand; default 0 [C] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added to the variance */
  eps: number;
  /** activation of the result; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
}

/** Arguments of {@link GraphOps.conv}. */
export interface ConvOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** filters, as in the checkpoint: [K,C/groups,T,R,S], or transposed [C,K,1,4,4] [M,D,T,R,S] f32|f16|bf16 */
  weight: Tensor;
  /** added per output channel [K] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|G,K] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,G,P,Q,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,G,P,Q,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** frames in front of x, of x's type. A clip in chunks gives the same bits as in one piece, where each chunk after the first has the last T − 1 input frames before it here and no padding in front [B,N,H,W,C] f32|f16|bf16 */
  past?: Tensor | undefined;
  /** steps in frames, height, width; default [1,1,1] */
  stride?: readonly [number, number, number] | undefined;
  /** size at front, back, top, bottom, left, right; default [0,0,0,0,0,0] */
  padding?: readonly [number, number, number, number, number, number] | undefined;
  /** double height and width by nearest neighbour first; default false */
  upsample?: boolean | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
  /** groups of channels that do not mix; divides C and K; default 1 */
  groups?: number | undefined;
  /** what pads in frames: zeros, or the first and the last frame again; default "zeros" */
  framePadding?: "zeros" | "replicate" | undefined;
  /** transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1; default false */
  transposed?: boolean | undefined;
}

/** Arguments of {@link GraphOps.convQ8}. */
export interface ConvQ8Options extends CallOptions {
  /** activations [B,F,H,W,C] f8e4m3|i8 */
  x: Tensor;
  /** of the activations: one, or one for each clip [1|B,1,1,1] f32 */
  xScale: Tensor;
  /** filters in the checkpoint's layout, in the type of x: [K,C,T,R,S], or transposed [C,K,1,4,4] [M,D,T,R,S] f8e4m3|i8 */
  weight: Tensor;
  /** of the filters: one, or one for each output channel [1|K,1] f32 */
  weightScale: Tensor;
  /** added per output channel [K] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|G,K] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,G,P,Q,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,G,P,Q,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** steps in frames, height, width; default [1,1,1] */
  stride?: readonly [number, number, number] | undefined;
  /** zeros at front, back, top, bottom, left, right; default [0,0,0,0,0,0] */
  padding?: readonly [number, number, number, number, number, number] | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
  /** transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1; default false */
  transposed?: boolean | undefined;
}

/** Arguments of {@link GraphOps.convQ8Codes}. */
export interface ConvQ8CodesOptions extends CallOptions {
  /** activations [B,F,H,W,C] f8e4m3|i8 */
  x: Tensor;
  /** of the activations: one, or one for each clip [1|B,1,1,1] f32 */
  xScale: Tensor;
  /** filters in the checkpoint's layout, in the type of x: [K,C,T,R,S], or transposed [C,K,1,4,4] [M,D,T,R,S] f8e4m3|i8 */
  weight: Tensor;
  /** of the filters: one, or one for each output channel [1|K,1] f32 */
  weightScale: Tensor;
  /** added per output channel [K] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|G,K] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,G,P,Q,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,G,P,Q,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** what codes stand for multiples of; finite and positive [1,1,1,1] f32 */
  yScale: Tensor;
  /** steps in frames, height, width; default [1,1,1] */
  stride?: readonly [number, number, number] | undefined;
  /** zeros at front, back, top, bottom, left, right; default [0,0,0,0,0,0] */
  padding?: readonly [number, number, number, number, number, number] | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
  /** transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1; default false */
  transposed?: boolean | undefined;
}

/** Arguments of {@link GraphOps.convWinograd}. */
export interface ConvWinogradOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** further channels after those of x, where statistics are given [B,F,H,W,C2] f32|f16|bf16 */
  x2?: Tensor | undefined;
  /** filters, as in the checkpoint [K,C+C2,1,3,3] f32|f16|bf16 */
  weight: Tensor;
  /** mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats [B,1|F,N,2] f32 */
  stats?: Tensor | undefined;
  /** scale of the normalised channels, [C + C2], where statistics are given [M] f32|f16|bf16 */
  normWeight?: Tensor | undefined;
  /** shift of the normalised channels, [C + C2], where statistics are given [L] f32|f16|bf16 */
  normBias?: Tensor | undefined;
  /** added per output channel [K] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|F,K] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,F,H,W,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,F,H,W,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** activation of the normalised channels; default "none" */
  normAct?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.copy}. */
export interface CopyOptions extends CallOptions {
  /** source [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
}

/** Arguments of {@link GraphOps.denoiseInput}. */
export interface DenoiseInputOptions extends CallOptions {
  /** noisy latents, one clip [B1,F,H,W,C] f32|f16|bf16 */
  latents: Tensor;
  /** latents of the conditioning picture [B1,1,H,W,C2] f32|f16|bf16 */
  image: Tensor;
  /** preconditioning factor of this step [B1] f32 */
  inputScale: Tensor;
  /** 1 without guidance, 2 with it */
  rows: number;
}

/** Arguments of {@link GraphOps.depthToSpace}. */
export interface DepthToSpaceOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** growth of frames, height, width */
  block: readonly [number, number, number];
  /** how channels are numbered; default "channels_first" */
  order?: "channels_first" | "channels_last" | undefined;
}

/** Arguments of {@link GraphOps.elementwise}. */
export interface ElementwiseOptions extends CallOptions {
  /** first operand, of the result's shape [B,F,S,C] f32|f16|bf16 */
  a: Tensor;
  /** second operand [1|B,1|F,1|S,1|C] f32|f16|bf16 */
  b?: Tensor | undefined;
  /** third operand [1|B,1|F,1|S,1|C] f32|f16|bf16 */
  c?: Tensor | undefined;
  /** fourth operand [1|B,1|F,1|S,1|C] f32|f16|bf16 */
  d?: Tensor | undefined;
  /** the program */
  code: readonly ("end" | "a" | "b" | "c" | "d" | "k0" | "k1" | "k2" | "k3" | "neg" | "abs" | "square" | "sqrt" | "rsqrt" | "exp" | "log" | "sigmoid" | "tanh" | "relu" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "add" | "sub" | "mul" | "div" | "min" | "max")[];
  /** k0, k1, …; default [] */
  constants?: readonly number[] | undefined;
}

/** Arguments of {@link GraphOps.framesOut}. */
export interface FramesOutOptions extends CallOptions {
  /** frames [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
}

/** Arguments of {@link GraphOps.groupNorm}. */
export interface GroupNormOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** further channels after those of x [B,F,H,W,C2] f32|f16|bf16 */
  x2?: Tensor | undefined;
  /** scale [C+C2] f32|f16|bf16 */
  weight: Tensor;
  /** shift [C+C2] f32|f16|bf16 */
  bias: Tensor;
  /** mean and 1/sqrt(variance + eps), if computed before by group_norm_stats [B,…,groups,2] f32 */
  stats?: Tensor | undefined;
  /** number of channel groups */
  groups: number;
  /** added to the variance */
  eps: number;
  /** activation of the result; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
  /** statistics over F, H, W instead of H, W; default false */
  joinFrames?: boolean | undefined;
}

/** Arguments of {@link GraphOps.groupNormConv}. */
export interface GroupNormConvOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** filters, as in the checkpoint [K,C,T,R,S] f32|f16|bf16 */
  weight: Tensor;
  /** mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats [B,1|F,N,2] f32 */
  stats: Tensor;
  /** scale of the normalised channels [C] f32|f16|bf16 */
  normWeight: Tensor;
  /** shift of the normalised channels [C] f32|f16|bf16 */
  normBias: Tensor;
  /** added per output channel [K] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|G,K] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,G,H,W,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,G,H,W,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** activation of the normalised channels; default "none" */
  normAct?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
  /** frames of zeros in front of what is normalised and behind it, for 3x1x1 filters; default [0,0] */
  temporalPadding?: readonly [number, number] | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.groupNormConvQ8}. */
export interface GroupNormConvQ8Options extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** what codes of the normalised channels stand for multiples of; finite and positive [1,1,1,1] f32 */
  normScale: Tensor;
  /** codes of filters, in the checkpoint's layout [K,C,T,R,S] f8e4m3 */
  weight: Tensor;
  /** of the filters: one, or one for each output channel [1|K,1] f32 */
  weightScale: Tensor;
  /** mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats [B,1|F,N,2] f32 */
  stats: Tensor;
  /** scale of the normalised channels [C] f32|f16|bf16 */
  normWeight: Tensor;
  /** shift of the normalised channels [C] f32|f16|bf16 */
  normBias: Tensor;
  /** added per output channel [K] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|G,K] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,G,H,W,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,G,H,W,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** activation of the normalised channels; default "none" */
  normAct?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
  /** frames of zeros in front of what is normalised and behind it, for 3x1x1 filters; default [0,0] */
  temporalPadding?: readonly [number, number] | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.groupNormQ8}. */
export interface GroupNormQ8Options extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** further channels after those of x [B,F,H,W,C2] f32|f16|bf16 */
  x2?: Tensor | undefined;
  /** scale [C+C2] f32|f16|bf16 */
  weight: Tensor;
  /** shift [C+C2] f32|f16|bf16 */
  bias: Tensor;
  /** mean and 1/sqrt(variance + eps), if computed before by group_norm_stats [B,…,groups,2] f32 */
  stats?: Tensor | undefined;
  /** what codes stand for multiples of; finite and positive [1,1,1,1] f32 */
  yScale: Tensor;
  /** number of channel groups */
  groups: number;
  /** added to the variance */
  eps: number;
  /** activation of the result; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
  /** statistics over F, H, W instead of H, W; default false */
  joinFrames?: boolean | undefined;
}

/** Arguments of {@link GraphOps.groupNormStats}. */
export interface GroupNormStatsOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** further channels after those of x [B,F,H,W,C2] f32|f16|bf16 */
  x2?: Tensor | undefined;
  /** mean and biased variance of each channel of each frame of x, as conv finds them; x and x2 are then not read [B,F,C,2] f32 */
  moments?: Tensor | undefined;
  /** the same of x2 [B,F,C2,2] f32 */
  moments2?: Tensor | undefined;
  /** number of channel groups */
  groups: number;
  /** added to the variance */
  eps: number;
  /** statistics over F, H, W instead of H, W; default false */
  joinFrames?: boolean | undefined;
}

/** Arguments of {@link GraphOps.guide}. */
export interface GuideOptions extends CallOptions {
  /** predictions, the unconditional row first [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** guidance per frame [F] f32 */
  scale: Tensor;
}

/** Arguments of {@link GraphOps.layerNorm}. */
export interface LayerNormOptions extends CallOptions {
  /** tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** learned factor; default 1 [C] f32|f16|bf16 */
  weight?: Tensor | undefined;
  /** learned summand; default 0 [C] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** modulates: the normalised token times 1 + scale [1|B,1|F,1|S,C] f32|f16|bf16 */
  scale?: Tensor | undefined;
  /** added last [1|B,1|F,1|S,C] f32|f16|bf16 */
  shift?: Tensor | undefined;
  /** added to the variance */
  eps: number;
}

/** Arguments of {@link GraphOps.layerNormLinear}. */
export interface LayerNormLinearOptions extends CallOptions {
  /** tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** one row per output column [N,C] f32|f16|bf16 */
  weight: Tensor;
  /** learned factor of the normalised channels; default 1 [C] f32|f16|bf16 */
  normWeight?: Tensor | undefined;
  /** learned summand of the normalised channels; default 0 [C] f32|f16|bf16 */
  normBias?: Tensor | undefined;
  /** added per output channel [N] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|F,N] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,F,S,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,F,S,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** added to the variance */
  eps: number;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.layerNormLinearQ8}. */
export interface LayerNormLinearQ8Options extends CallOptions {
  /** tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** what codes of the normalised tokens stand for multiples of; finite and positive [1,1,1,1] f32 */
  normScale: Tensor;
  /** codes, one row per output column [N,C] f8e4m3 */
  weight: Tensor;
  /** of the weight: one, or one for each row [1|N,1] f32 */
  weightScale: Tensor;
  /** learned factor of the normalised channels; default 1 [C] f32|f16|bf16 */
  normWeight?: Tensor | undefined;
  /** learned summand of the normalised channels; default 0 [C] f32|f16|bf16 */
  normBias?: Tensor | undefined;
  /** added per output channel [N] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|F,N] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,F,S,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,F,S,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** added to the variance */
  eps: number;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.layerNormLinearQ8Codes}. */
export interface LayerNormLinearQ8CodesOptions extends CallOptions {
  /** tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** what codes of the normalised tokens stand for multiples of; finite and positive [1,1,1,1] f32 */
  normScale: Tensor;
  /** codes, one row per output column [N,C] f8e4m3 */
  weight: Tensor;
  /** of the weight: one, or one for each row [1|N,1] f32 */
  weightScale: Tensor;
  /** learned factor of the normalised channels; default 1 [C] f32|f16|bf16 */
  normWeight?: Tensor | undefined;
  /** learned summand of the normalised channels; default 0 [C] f32|f16|bf16 */
  normBias?: Tensor | undefined;
  /** added per output channel [N] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|F,N] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,F,S,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,F,S,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** what codes stand for multiples of; finite and positive [1,1,1,1] f32 */
  yScale: Tensor;
  /** added to the variance */
  eps: number;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.layerNormQ8}. */
export interface LayerNormQ8Options extends CallOptions {
  /** tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** learned factor; default 1 [C] f32|f16|bf16 */
  weight?: Tensor | undefined;
  /** learned summand; default 0 [C] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** modulates: the normalised token times 1 + scale [1|B,1|F,1|S,C] f32|f16|bf16 */
  scale?: Tensor | undefined;
  /** added last [1|B,1|F,1|S,C] f32|f16|bf16 */
  shift?: Tensor | undefined;
  /** what codes stand for multiples of; finite and positive; without it each token has a scale of its own [1,1,1,1] f32 */
  yScale?: Tensor | undefined;
  /** added to the variance */
  eps: number;
}

/** Arguments of {@link GraphOps.layoutIn}. */
export interface LayoutInOptions extends CallOptions {
  /** planes [B,F,C,H,W] f32|f16|bf16 */
  x: Tensor;
  /** factor; default 1 */
  scale?: number | undefined;
  /** added; default 0 */
  shift?: number | undefined;
}

/** Arguments of {@link GraphOps.layoutOut}. */
export interface LayoutOutOptions extends CallOptions {
  /** pixels [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** factor; default 1 */
  scale?: number | undefined;
  /** added; default 0 */
  shift?: number | undefined;
}

/** Arguments of {@link GraphOps.linear}. */
export interface LinearOptions extends CallOptions {
  /** tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** further channels after those of x [B,F,S,C2] f32|f16|bf16 */
  x2?: Tensor | undefined;
  /** one row per output column [N,C+C2] f32|f16|bf16 */
  weight: Tensor;
  /** added per output channel [N] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|F,N] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,F,S,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,F,S,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.linearQ8}. */
export interface LinearQ8Options extends CallOptions {
  /** tokens [B,F,S,C] f8e4m3|i8 */
  x: Tensor;
  /** of the tokens, as quantize makes them [1|B,1|F,1|S,1|G] f32 */
  xScale: Tensor;
  /** one row per output column, in the type of x [N,C] f8e4m3|i8 */
  weight: Tensor;
  /** of the weight's rows, or of blocks of 128 channels of them [1|N,1|G] f32 */
  weightScale: Tensor;
  /** added per output channel [N] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|F,N] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,F,S,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,F,S,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.linearQ8Codes}. */
export interface LinearQ8CodesOptions extends CallOptions {
  /** tokens [B,F,S,C] f8e4m3|i8 */
  x: Tensor;
  /** of the tokens, as quantize makes them [1|B,1|F,1|S,1|G] f32 */
  xScale: Tensor;
  /** one row per output column, in the type of x [N,C] f8e4m3|i8 */
  weight: Tensor;
  /** of the weight's rows, or of blocks of 128 channels of them [1|N,1|G] f32 */
  weightScale: Tensor;
  /** added per output channel [N] f32|f16|bf16 */
  bias?: Tensor | undefined;
  /** added per clip, frame and output channel [1|B,1|F,N] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** added after the activation [B,F,S,K] f32|f16|bf16 */
  residual?: Tensor | undefined;
  /** a second one, e.g. the other branch of a blend [B,F,S,K] f32|f16|bf16 */
  residual2?: Tensor | undefined;
  /** what codes stand for multiples of; finite and positive [1,1,1,1] f32 */
  yScale: Tensor;
  /** activation after the biases; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | "geglu" | "swiglu" | undefined;
  /** factor of the activated value; default 1 */
  outScale?: number | undefined;
  /** factor of `residual`; default 1 */
  residualScale?: number | undefined;
  /** factor of `residual2`; default 1 */
  residual2Scale?: number | undefined;
}

/** Arguments of {@link GraphOps.pointwise}. */
export interface PointwiseOptions extends CallOptions {
  /** first operand [B,F,S,C] f32|f16|bf16 */
  a: Tensor;
  /** second operand [B,F,S,C] f32|f16|bf16 */
  b?: Tensor | undefined;
  /** factor of the second operand [B,F,S,C] f32|f16|bf16 */
  c?: Tensor | undefined;
  /** added per clip, frame and channel [1|B,1|F,C] f32|f16|bf16 */
  frameBias?: Tensor | undefined;
  /** factor of a; default 1 */
  aScale?: number | undefined;
  /** factor of b; default 1 */
  bScale?: number | undefined;
  /** activation of the sum; default "none" */
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
}

/** Arguments of {@link GraphOps.pool}. */
export interface PoolOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** what is taken of a window */
  mode: "max" | "average";
  /** frames, height and width of a window */
  kernel: readonly [number, number, number];
  /** steps of the window in frames, height and width; default [1,1,1] */
  stride?: readonly [number, number, number] | undefined;
  /** before and behind frames, height and width; default [0,0,0,0,0,0] */
  padding?: readonly [number, number, number, number, number, number] | undefined;
  /** averages count padding as zeros; else they leave it out; default true */
  countIncludePad?: boolean | undefined;
}

/** Arguments of {@link GraphOps.quantize}. */
export interface QuantizeOptions extends CallOptions {
  /** tokens, or rows of a weight [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** scales that are known, as from calibration; finite and positive [SB,SF,SS,SG] f32 */
  scale?: Tensor | undefined;
  /** what has a scale of its own; default "tensor" */
  per?: "tensor" | "row" | "block" | undefined;
}

/** Arguments of {@link GraphOps.resize}. */
export interface ResizeOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** rows of the result */
  height: number;
  /** columns of the result */
  width: number;
  /** interpolation; default "nearest" */
  mode?: "nearest" | "bilinear" | "bicubic" | undefined;
  /** the corners' centres coincide (bilinear and bicubic); default false */
  alignCorners?: boolean | undefined;
}

/** Arguments of {@link GraphOps.rmsNorm}. */
export interface RmsNormOptions extends CallOptions {
  /** tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** learned factor; default 1 [C] f32|f16|bf16 */
  weight?: Tensor | undefined;
  /** modulates: the normalised token times 1 + scale [1|B,1|F,1|S,C] f32|f16|bf16 */
  scale?: Tensor | undefined;
  /** added last [1|B,1|F,1|S,C] f32|f16|bf16 */
  shift?: Tensor | undefined;
  /** added to the mean square */
  eps: number;
}

/** Arguments of {@link GraphOps.samplerStep}. */
export interface SamplerStepOptions extends CallOptions {
  /** the denoiser's result; of two rows the unconditional one first [B,F,H,W,C] f32|f16|bf16 */
  prediction: Tensor;
  /** sample before the step [B1,F,H,W,C] f32 */
  x: Tensor;
  /** rows: next sample, denoised, next history; columns: x, guided prediction, noise, history. With bounds or previous (D = 1) one more row, the data prediction from those terms, and one more column, the weight of what bounds and blend leave of it [(numHistory+2)+D,(numHistory+3)+D] f32 */
  coefficients: Tensor;
  /** scale per frame, with two rows [F] f32 */
  guidance?: Tensor | undefined;
  /** unit noise; absent where its column is 0 [B1,F,H,W,C] f32 */
  noise?: Tensor | undefined;
  /** instead of noise: lower and upper half of a seed, then of the number of engine calls before (torch's offset / 4). Element i of the clip as planes [F,C,H,W] gets what torch.randn(…, device='cuda') gives it [4] i32 */
  philox?: Tensor | undefined;
  /** what multistep samplers remember [numHistory,F,H,W,C] f32 */
  history?: Tensor | undefined;
  /** clean latents that the data prediction is blended with, of one frame or of each [B1,1|F,H,W,C] f32 */
  previous?: Tensor | undefined;
  /** weight of previous, and the largest difference of any channel up to which a pixel is blended [2] f32 */
  blend?: Tensor | undefined;
  /** latents of the picture [B1,1,H,W,C2] f32|f16|bf16 */
  image?: Tensor | undefined;
  /** preconditioning factor of the next input; default 1 [B1] f32 */
  inputScale?: Tensor | undefined;
  /** tensors of history; default 0 */
  numHistory?: number | undefined;
  /** how the data prediction is bounded: clip to ±clipRange, or dynamic thresholding: to ±s, then over s, where s is the clip's quantile of magnitudes, at least 1 and at most maxValue; default "none" */
  bounds?: "none" | "clip" | "threshold" | undefined;
  /** largest magnitude that clip leaves; default 1 */
  clipRange?: number | undefined;
  /** which quantile thresholding takes, interpolated linearly; default 0.995 */
  quantile?: number | undefined;
  /** largest s of thresholding; default 1 */
  maxValue?: number | undefined;
  /** threads of torch's kernel, among which philox numbers are dealt; default one per element; default 2147483647 */
  lanes?: number | undefined;
}

/** Arguments of {@link GraphOps.spaceToDepth}. */
export interface SpaceToDepthOptions extends CallOptions {
  /** activations [B,F,H,W,C] f32|f16|bf16 */
  x: Tensor;
  /** shrinkage of frames, height, width */
  block: readonly [number, number, number];
}

/** Arguments of {@link GraphOps.timestepEmbedding}. */
export interface TimestepEmbeddingOptions extends CallOptions {
  /** numbers to embed [B,N] f32 */
  t: Tensor;
  /** channels per number, even */
  width: number;
  /** longest period; default 10000 */
  maxPeriod?: number | undefined;
  /** subtracted from width/2 in the exponent's divisor; default 0 */
  downscaleShift?: number | undefined;
}

/** Arguments of {@link GraphOps.tokenEmbed}. */
export interface TokenEmbedOptions extends CallOptions {
  /** patch tokens [B,F,S,C] f32|f16|bf16 */
  x: Tensor;
  /** the class token [C] f32|f16|bf16 */
  token: Tensor;
  /** position embeddings [S+1,C] f32|f16|bf16 */
  position: Tensor;
}

/** One method per op of the contract; {@link Graph} records them, eager mode runs them at once. */
export abstract class GraphOps {
  /** Checks the arguments against the contract, infers the result and adds the row. */
  protected abstract record(op: OpId, options: CallOptions): Tensor;

  /** Computes softmax(scale · q kᵀ + mask) v per head, over the tokens of each frame or over the frames of each token; q and k may be normalised and rotated before. Rows without any allowed key give 0 and a log-sum-exp of −∞. A score that is NaN or +∞ makes its row NaN.
   *  q: [B,F,S,E] queries, heads side by side.
   *  k: [B,Fk,L,E] keys; over space one frame serves all frames; over time Fk is the number of keys and L = S.
   *  v: [B,Fk,L,E] values.
   *  mask: [1|B,1|heads,1|Q,K] Q queries and K keys of the axis, the same for all its sequences: floats are added to the scaled scores, a u8 of 0 forbids.
   *  cuQ: [N1] offsets of packed sequences along the axis, N + 1 of them, the same in every frame (space) or token (time).
   *  cuK: [N1] offsets of packed sequences among the keys.
   *  normQ: [E/heads] each head of q is divided by its root mean square and multiplied by this.
   *  normK: [E/heads] the same for k.
   *  rotaryQ: [Q,R] cosine and sine of R/2 angles per query, by which pairs of the first R channels of each head are rotated, after the norm.
   *  rotaryK: [K,R] the same per key.
   *  Returns y: [B,F,S,E] result.
   *  Source: https://arxiv.org/abs/2205.14135
   *  Source: pytorch/pytorch torch/nn/functional.py scaled_dot_product_attention
   *  Source: https://arxiv.org/abs/2104.09864
   *  Source: https://arxiv.org/abs/1910.07467
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  attention(options: AttentionOptions): Tensor {
    return this.record("attention", options);
  }

  /** Computes the gradients of attention by its queries, keys and values, those that are given a place, from the result y, the log-sum-exp lse and the gradient dy of the result. Rows without any allowed key add nothing. q and k are those of the products: normalised and rotated if they were.
   *  q: [B,F,S,E] queries, heads side by side.
   *  k: [B,Fk,L,E] keys; over space one frame serves all frames; over time Fk is the number of keys and L = S.
   *  v: [B,Fk,L,E] values.
   *  y: [B,F,S,E] result of attention.
   *  lse: [B,F,heads,S] its log-sum-exp.
   *  dy: [B,F,S,E] gradient by y.
   *  mask: [1|B,1|heads,1|Q,K] Q queries and K keys of the axis, the same for all its sequences: floats are added to the scaled scores, a u8 of 0 forbids.
   *  cuQ: [N1] offsets of packed sequences along the axis, N + 1 of them, the same in every frame (space) or token (time).
   *  cuK: [N1] offsets of packed sequences among the keys.
   *  Returns delta: [B,F,heads,S] sums of dy · y over the channels of a head, from which all gradients are computed.
   *  Source: https://arxiv.org/abs/2205.14135
   *  Source: https://arxiv.org/abs/2307.08691
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  attentionBackward(options: AttentionBackwardOptions): Tensor {
    return this.record("attention_backward", options);
  }

  /** Computes softmax(scale · q kᵀ) v per head, over the tokens of each frame or over the frames of each token, of float8 codes with scales that are known: for queries, keys and values that the layer before leaves as codes, where attention_q8 reads numbers and rounds them. Over the tokens of a frame tensor cores add up scores in float16, which codes of q and k of at most 28 in size fit in heads of 64, and round probabilities as attention_q8 does.
   *  q: [B,F,S,E] codes of queries, heads side by side.
   *  k: [B,Fk,L,E] codes of keys; over space one frame serves all frames; over time Fk is the number of keys and L = S.
   *  v: [B,Fk,L,E] codes of values.
   *  qScale: [1,1,1,1] what codes of q stand for multiples of; finite and positive.
   *  kScale: [1,1,1,1] what codes of k stand for multiples of; finite and positive.
   *  vScale: [1,1,1,1] what codes of v stand for multiples of; finite and positive.
   *  Returns y: [B,F,S,E] result; f32 unless `out` is of another type.
   *  Source: https://arxiv.org/abs/2205.14135
   *  Source: https://arxiv.org/abs/2407.08608
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  attentionF8(options: AttentionF8Options): Tensor {
    return this.record("attention_f8", options);
  }

  /** Computes attention_f8 and rounds the result to float8 with one scale that is known before, so that a linear layer in 8 bits follows without a pass of its own: y = round(attention_f8(q, k, v) · (1 / yScale)), ties to even, saturating at ±448. No result is larger than the largest value, so that the scale can follow from that of values.
   *  q: [B,F,S,E] codes of queries, heads side by side.
   *  k: [B,Fk,L,E] codes of keys; over space one frame serves all frames; over time Fk is the number of keys and L = S.
   *  v: [B,Fk,L,E] codes of values.
   *  qScale: [1,1,1,1] what codes of q stand for multiples of; finite and positive.
   *  kScale: [1,1,1,1] what codes of k stand for multiples of; finite and positive.
   *  vScale: [1,1,1,1] what codes of v stand for multiples of; finite and positive.
   *  yScale: [1,1,1,1] what codes stand for multiples of; finite and positive.
   *  Returns y: [B,F,S,E] codes.
   *  Source: https://arxiv.org/abs/2205.14135
   *  Source: https://arxiv.org/abs/2407.08608
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  attentionF8Codes(options: AttentionF8CodesOptions): Tensor {
    return this.record("attention_f8_codes", options);
  }

  /** Computes softmax(scale · q kᵀ) v per head over the tokens of each frame, with q and k, and v too unless `values` is full, rounded to 8 bits as quantize does it with a scale for each frame and head. Tensor cores also round scores of float8 to float16, and probabilities that multiply 8-bit values to a scale of logarithms relative to their running maximum; sums of probabilities are of the rounded ones.
   *  q: [B,F,S,E] queries, heads side by side.
   *  k: [B,Fk,L,E] keys; one frame may serve all frames.
   *  v: [B,Fk,L,E] values.
   *  Returns y: [B,F,S,E] result.
   *  Source: https://arxiv.org/abs/2205.14135
   *  Source: https://arxiv.org/abs/2407.08608
   *  Source: https://arxiv.org/abs/2410.02367
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  attentionQ8(options: AttentionQ8Options): Tensor {
    return this.record("attention_q8", options);
  }

  /** Normalises each channel by the running statistics of a batch norm in evaluation: act((x − mean) / sqrt(variance + eps) · weight + bias). Where a convolution comes before, foldBatchNorm merges both into one at no cost.
   *  x: [B,F,H,W,C] activations.
   *  mean: [C] running mean.
   *  variance: [C] running variance, not negative.
   *  weight: [C] learned factor; default 1.
   *  bias: [C] learned summand; default 0.
   *  Returns y: [B,F,H,W,C] result.
   *  Source: https://arxiv.org/abs/1502.03167
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  batchNorm(options: BatchNormOptions): Tensor {
    return this.record("batch_norm", options);
  }

  /** Convolves a channels-last clip over frames, height and width and applies the shared epilogue. Before that, `past` frames may stand in front of x, and nearest-2x may double height and width. Padding is zeros; in frames it may repeat the first and the last one. With groups, each group of output channels sees the group of input channels at the same place. Transposed, pixels are spread by the stride instead: 4x4 filters double height and width. Padding by zeros adds nothing on the CPU, whatever the weights; a GPU multiplies its zeros, so that weights which are not finite give NaN at the borders there. Inputs that are not finite reach the results whose windows hold them, as infinities or NaN.
   *  x: [B,F,H,W,C] activations.
   *  weight: [M,D,T,R,S] filters, as in the checkpoint: [K,C/groups,T,R,S], or transposed [C,K,1,4,4].
   *  bias: [K] added per output channel.
   *  frameBias: [1|B,1|G,K] added per clip, frame and output channel.
   *  residual: [B,G,P,Q,K] added after the activation.
   *  residual2: [B,G,P,Q,K] a second one, e.g. the other branch of a blend.
   *  past: [B,N,H,W,C] frames in front of x, of x's type. A clip in chunks gives the same bits as in one piece, where each chunk after the first has the last T − 1 input frames before it here and no padding in front.
   *  Returns y: [B,G,P,Q,K] result.
   *  Source: https://arxiv.org/abs/1603.07285
   *  Source: huggingface/diffusers@58eb52c src/diffusers/models/resnet.py
   *  Source: https://arxiv.org/abs/2310.05737 (convolutions that are causal in frames)
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  conv(options: ConvOptions): Tensor {
    return this.record("conv", options);
  }

  /** Convolves a channels-last clip over frames, height and width with zero padding, activations and filters in 8 bits of one type with scales, and applies the shared epilogue: y = tail(xScale · weightScale · Σ x · weight). Sums of at most 1280 float8 products are added up in float32, perhaps rounded to 11 bits before; sums of integers are exact. Transposed, pixels are spread by the stride instead: 4x4 filters double height and width, among them those of nearest-2x with 3x3 filters behind it.
   *  x: [B,F,H,W,C] activations.
   *  xScale: [1|B,1,1,1] of the activations: one, or one for each clip.
   *  weight: [M,D,T,R,S] filters in the checkpoint's layout, in the type of x: [K,C,T,R,S], or transposed [C,K,1,4,4].
   *  weightScale: [1|K,1] of the filters: one, or one for each output channel.
   *  bias: [K] added per output channel.
   *  frameBias: [1|B,1|G,K] added per clip, frame and output channel.
   *  residual: [B,G,P,Q,K] added after the activation.
   *  residual2: [B,G,P,Q,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,G,P,Q,K] result; f32 unless `out` is of another type.
   *  Source: https://arxiv.org/abs/1603.07285
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  convQ8(options: ConvQ8Options): Tensor {
    return this.record("conv_q8", options);
  }

  /** Convolves a clip as conv_q8 does and rounds the result to 8 bits with one scale that is known before, so that a convolution in 8 bits follows without a pass of its own: y = round(conv_q8(x) · (1 / yScale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8).
   *  x: [B,F,H,W,C] activations.
   *  xScale: [1|B,1,1,1] of the activations: one, or one for each clip.
   *  weight: [M,D,T,R,S] filters in the checkpoint's layout, in the type of x: [K,C,T,R,S], or transposed [C,K,1,4,4].
   *  weightScale: [1|K,1] of the filters: one, or one for each output channel.
   *  bias: [K] added per output channel.
   *  frameBias: [1|B,1|G,K] added per clip, frame and output channel.
   *  residual: [B,G,P,Q,K] added after the activation.
   *  residual2: [B,G,P,Q,K] a second one, e.g. the other branch of a blend.
   *  yScale: [1,1,1,1] what codes stand for multiples of; finite and positive.
   *  Returns y: [B,G,P,Q,K] codes, in the type of x unless `out` is of the other one.
   *  Source: https://arxiv.org/abs/1603.07285
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  convQ8Codes(options: ConvQ8CodesOptions): Tensor {
    return this.record("conv_q8_codes", options);
  }

  /** Convolves every frame of a channels-last clip with 3x3 filters, a step of one and a border of zeros, and applies the shared epilogue, as conv does; before that it may normalise channel groups by given statistics and apply an activation, as group_norm does, also of two inputs side by side. Kernels may use Winograd's F(4x4, 3x3), which needs a quarter of the products; in float16 its error is about five times that of rounding the result. On the CPU, and where a GPU has no kernel for it, the convolution is computed as conv does.
   *  x: [B,F,H,W,C] activations.
   *  x2: [B,F,H,W,C2] further channels after those of x, where statistics are given.
   *  weight: [K,C+C2,1,3,3] filters, as in the checkpoint.
   *  stats: [B,1|F,N,2] mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats.
   *  normWeight: [M] scale of the normalised channels, [C + C2], where statistics are given.
   *  normBias: [L] shift of the normalised channels, [C + C2], where statistics are given.
   *  bias: [K] added per output channel.
   *  frameBias: [1|B,1|F,K] added per clip, frame and output channel.
   *  residual: [B,F,H,W,K] added after the activation.
   *  residual2: [B,F,H,W,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,F,H,W,K] result.
   *  Source: https://arxiv.org/abs/1509.09308
   *  Source: https://arxiv.org/abs/1803.10986 (which points the transforms of larger tiles want)
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  convWinograd(options: ConvWinogradOptions): Tensor {
    return this.record("conv_winograd", options);
  }

  /** Copies tokens into another element type or pixel pitch.
   *  x: [B,F,S,C] source.
   *  Returns y: [B,F,S,C] result, rounded to nearest even.
   *  Source: https://pytorch.org/docs/stable/generated/torch.Tensor.copy_.html
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  copy(options: CopyOptions): Tensor {
    return this.record("copy", options);
  }

  /** Builds the denoiser's input: noisy latents times inputScale, then the image's latents as further channels on every frame; with two rows the first is the unconditional one, whose image latents are zero.
   *  latents: [B1,F,H,W,C] noisy latents, one clip.
   *  image: [B1,1,H,W,C2] latents of the conditioning picture.
   *  inputScale: [B1] preconditioning factor of this step.
   *  Returns y: [rows,F,H,W,C+C2] denoiser input.
   *  Source: huggingface/diffusers@58eb52c src/diffusers/pipelines/stable_video_diffusion/pipeline_stable_video_diffusion.py
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  denoiseInput(options: DenoiseInputOptions): Tensor {
    return this.record("denoise_input", options);
  }

  /** Moves channels into frames, height and width. channels_first: channel = c · block + (dt · bh + dy) · bw + dx, as pixel_shuffle; channels_last: channel = ((dy · bw + dx) · bt + dt) · C + c, as SeedVR's upsampler.
   *  x: [B,F,H,W,C] activations.
   *  Returns y: [B,F·block,H·block[1],W·block[2],…] result.
   *  Source: https://arxiv.org/abs/1609.05158
   *  Source: ByteDance-Seed/SeedVR models/video_vae_v3/modules/attn_video_vae.py Upsample3D
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  depthToSpace(options: DepthToSpaceOptions): Tensor {
    return this.record("depth_to_space", options);
  }

  /** Computes a small expression of up to four tensors and constants for each element, in float32 and in one pass over memory. The expression is a program in postfix order for a stack of at most four numbers: a to d and k0 to k3 put an operand or a constant on it, functions replace what they take. silu(a + b · c) is a, b, c, mul, add, silu. NaN stays NaN, but min and max give the other number, relu 0. The function elementwise() of @vd/tensor writes such programs.
   *  a: [B,F,S,C] first operand, of the result's shape.
   *  b: [1|B,1|F,1|S,1|C] second operand.
   *  c: [1|B,1|F,1|S,1|C] third operand.
   *  d: [1|B,1|F,1|S,1|C] fourth operand.
   *  Returns y: [B,F,S,C] result.
   *  Source: https://docs.pytorch.org/docs/stable/torch.html#pointwise-ops
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  elementwise(options: ElementwiseOptions): Tensor {
    return this.record("elementwise", options);
  }

  /** Turns decoded frames, nominally in [-1,1], into 8 bits: clamp(x/2 + 0.5, 0, 1) · 255, rounded half to even; NaN gives 0.
   *  x: [B,F,H,W,C] frames.
   *  Returns y: [B,F,H,W,C] levels.
   *  Source: huggingface/diffusers@58eb52c src/diffusers/image_processor.py `denormalize`, `numpy_to_pil`
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  framesOut(options: FramesOutOptions): Tensor {
    return this.record("frames_out", options);
  }

  /** Normalises channel groups of a clip, optionally of two inputs side by side, then applies an activation.
   *  x: [B,F,H,W,C] activations.
   *  x2: [B,F,H,W,C2] further channels after those of x.
   *  weight: [C+C2] scale.
   *  bias: [C+C2] shift.
   *  stats: [B,…,groups,2] mean and 1/sqrt(variance + eps), if computed before by group_norm_stats.
   *  Returns y: [B,F,H,W,C+C2] result.
   *  Source: https://arxiv.org/abs/1803.08494
   *  Source: huggingface/diffusers@58eb52c src/diffusers/models/resnet.py
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  groupNorm(options: GroupNormOptions): Tensor {
    return this.record("group_norm", options);
  }

  /** Normalises the channel groups of a clip by given statistics and activates, as group_norm does, then convolves every frame with 3x3 filters, zeros around what is normalised, or each pixel's frames with 3x1x1 filters, a step of one, and applies the shared epilogue, as conv does. Kernels need not put the normalised clip into memory.
   *  x: [B,F,H,W,C] activations.
   *  weight: [K,C,T,R,S] filters, as in the checkpoint.
   *  stats: [B,1|F,N,2] mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats.
   *  normWeight: [C] scale of the normalised channels.
   *  normBias: [C] shift of the normalised channels.
   *  bias: [K] added per output channel.
   *  frameBias: [1|B,1|G,K] added per clip, frame and output channel.
   *  residual: [B,G,H,W,K] added after the activation.
   *  residual2: [B,G,H,W,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,G,H,W,K] result.
   *  Source: https://arxiv.org/abs/1803.08494
   *  Source: huggingface/diffusers@58eb52c src/diffusers/models/resnet.py
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  groupNormConv(options: GroupNormConvOptions): Tensor {
    return this.record("group_norm_conv", options);
  }

  /** Normalises the channel groups of a clip by given statistics, activates and rounds to float8 with one scale that is known before, as group_norm_q8 does, then convolves the codes with filters in float8, as conv_q8 does: every frame with 3x3 filters, zeros around what is normalised, or each pixel's frames with 3x1x1 filters, a step of one. Kernels need not put the codes into memory.
   *  x: [B,F,H,W,C] activations.
   *  normScale: [1,1,1,1] what codes of the normalised channels stand for multiples of; finite and positive.
   *  weight: [K,C,T,R,S] codes of filters, in the checkpoint's layout.
   *  weightScale: [1|K,1] of the filters: one, or one for each output channel.
   *  stats: [B,1|F,N,2] mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats.
   *  normWeight: [C] scale of the normalised channels.
   *  normBias: [C] shift of the normalised channels.
   *  bias: [K] added per output channel.
   *  frameBias: [1|B,1|G,K] added per clip, frame and output channel.
   *  residual: [B,G,H,W,K] added after the activation.
   *  residual2: [B,G,H,W,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,G,H,W,K] result.
   *  Source: https://arxiv.org/abs/1803.08494
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  groupNormConvQ8(options: GroupNormConvQ8Options): Tensor {
    return this.record("group_norm_conv_q8", options);
  }

  /** Normalises channel groups of a clip as group_norm does and rounds the result to 8 bits with one scale that is known before, so that a convolution in 8 bits follows without a pass of its own: y = round(group_norm(x) · (1 / yScale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8).
   *  x: [B,F,H,W,C] activations.
   *  x2: [B,F,H,W,C2] further channels after those of x.
   *  weight: [C+C2] scale.
   *  bias: [C+C2] shift.
   *  stats: [B,…,groups,2] mean and 1/sqrt(variance + eps), if computed before by group_norm_stats.
   *  yScale: [1,1,1,1] what codes stand for multiples of; finite and positive.
   *  Returns y: [B,F,H,W,C+C2] codes; f8e4m3 unless `out` is i8.
   *  Source: https://arxiv.org/abs/1803.08494
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  groupNormQ8(options: GroupNormQ8Options): Tensor {
    return this.record("group_norm_q8", options);
  }

  /** Computes mean and 1/sqrt(variance + eps) of channel groups, so that a clip can be normalised in parts.
   *  x: [B,F,H,W,C] activations.
   *  x2: [B,F,H,W,C2] further channels after those of x.
   *  moments: [B,F,C,2] mean and biased variance of each channel of each frame of x, as conv finds them; x and x2 are then not read.
   *  moments2: [B,F,C2,2] the same of x2.
   *  Returns stats: [B,…,groups,2] mean and 1/sqrt(variance + eps), biased variance.
   *  Source: https://arxiv.org/abs/1803.08494
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  groupNormStats(options: GroupNormStatsOptions): Tensor {
    return this.record("group_norm_stats", options);
  }

  /** Classifier-free guidance per frame: y = unconditional + scale[f] · (conditional − unconditional).
   *  x: [B,F,H,W,C] predictions, the unconditional row first.
   *  scale: [F] guidance per frame.
   *  Returns y: [1,F,H,W,C] guided prediction.
   *  Source: https://arxiv.org/abs/2207.12598 eq. 6
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  guide(options: GuideOptions): Tensor {
    return this.record("guide", options);
  }

  /** Normalises each token over its channels to mean 0 and variance 1; then the learned weight and bias, and the modulation of adaptive norms: ((x − mean) / sqrt(variance + eps) · weight + bias) · (1 + scale) + shift.
   *  x: [B,F,S,C] tokens.
   *  weight: [C] learned factor; default 1.
   *  bias: [C] learned summand; default 0.
   *  scale: [1|B,1|F,1|S,C] modulates: the normalised token times 1 + scale.
   *  shift: [1|B,1|F,1|S,C] added last.
   *  Returns y: [B,F,S,C] result.
   *  Source: https://arxiv.org/abs/1607.06450
   *  Source: https://arxiv.org/abs/2212.09748
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  layerNorm(options: LayerNormOptions): Tensor {
    return this.record("layer_norm", options);
  }

  /** Normalises each token over its channels, as layer_norm does, then multiplies it with a weight matrix and applies the shared epilogue, as linear does: for a norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory.
   *  x: [B,F,S,C] tokens.
   *  weight: [N,C] one row per output column.
   *  normWeight: [C] learned factor of the normalised channels; default 1.
   *  normBias: [C] learned summand of the normalised channels; default 0.
   *  bias: [N] added per output channel.
   *  frameBias: [1|B,1|F,N] added per clip, frame and output channel.
   *  residual: [B,F,S,K] added after the activation.
   *  residual2: [B,F,S,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,F,S,K] result.
   *  Source: https://arxiv.org/abs/1607.06450
   *  Source: huggingface/diffusers@58eb52c src/diffusers/models/attention.py
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  layerNormLinear(options: LayerNormLinearOptions): Tensor {
    return this.record("layer_norm_linear", options);
  }

  /** Normalises each token over its channels and rounds it to float8 with one scale that is known before, as layer_norm_q8 does, then multiplies the codes with a weight matrix in float8 and applies the shared epilogue, as linear_q8 does: for a norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory.
   *  x: [B,F,S,C] tokens.
   *  normScale: [1,1,1,1] what codes of the normalised tokens stand for multiples of; finite and positive.
   *  weight: [N,C] codes, one row per output column.
   *  weightScale: [1|N,1] of the weight: one, or one for each row.
   *  normWeight: [C] learned factor of the normalised channels; default 1.
   *  normBias: [C] learned summand of the normalised channels; default 0.
   *  bias: [N] added per output channel.
   *  frameBias: [1|B,1|F,N] added per clip, frame and output channel.
   *  residual: [B,F,S,K] added after the activation.
   *  residual2: [B,F,S,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,F,S,K] result.
   *  Source: https://arxiv.org/abs/1607.06450
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  layerNormLinearQ8(options: LayerNormLinearQ8Options): Tensor {
    return this.record("layer_norm_linear_q8", options);
  }

  /** Normalises each token over its channels and rounds it to float8 with one scale that is known before, as layer_norm_q8 does, then multiplies the codes with a weight matrix in float8 and rounds the result with another known scale, as linear_q8_codes does: for a norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory.
   *  x: [B,F,S,C] tokens.
   *  normScale: [1,1,1,1] what codes of the normalised tokens stand for multiples of; finite and positive.
   *  weight: [N,C] codes, one row per output column.
   *  weightScale: [1|N,1] of the weight: one, or one for each row.
   *  normWeight: [C] learned factor of the normalised channels; default 1.
   *  normBias: [C] learned summand of the normalised channels; default 0.
   *  bias: [N] added per output channel.
   *  frameBias: [1|B,1|F,N] added per clip, frame and output channel.
   *  residual: [B,F,S,K] added after the activation.
   *  residual2: [B,F,S,K] a second one, e.g. the other branch of a blend.
   *  yScale: [1,1,1,1] what codes stand for multiples of; finite and positive.
   *  Returns y: [B,F,S,K] codes.
   *  Source: https://arxiv.org/abs/1607.06450
   *  Source: https://arxiv.org/abs/2209.05433
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  layerNormLinearQ8Codes(options: LayerNormLinearQ8CodesOptions): Tensor {
    return this.record("layer_norm_linear_q8_codes", options);
  }

  /** Normalises each token over its channels as layer_norm does and rounds it to 8 bits with a scale of its own, or with one for all that is known before, so that a linear layer in 8 bits follows without a pass of its own: scales = yScale, or the largest magnitude of the token / 448 (f8e4m3) or 127 (i8), at least 2^-126; y = round(layer_norm(x) · (1 / scales)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8).
   *  x: [B,F,S,C] tokens.
   *  weight: [C] learned factor; default 1.
   *  bias: [C] learned summand; default 0.
   *  scale: [1|B,1|F,1|S,C] modulates: the normalised token times 1 + scale.
   *  shift: [1|B,1|F,1|S,C] added last.
   *  yScale: [1,1,1,1] what codes stand for multiples of; finite and positive; without it each token has a scale of its own.
   *  Returns y: [B,F,S,C] codes; f8e4m3 unless `out` is i8.
   *  Source: https://arxiv.org/abs/1607.06450
   *  Source: https://arxiv.org/abs/2211.10438
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  layerNormQ8(options: LayerNormQ8Options): Tensor {
    return this.record("layer_norm_q8", options);
  }

  /** Turns planes [B,F,C,H,W] into channels-last pixels: y = scale · x + shift.
   *  x: [B,F,C,H,W] planes.
   *  Returns y: [B,F,H,W,C] pixels.
   *  Source: https://pytorch.org/tutorials/intermediate/memory_format_tutorial.html
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  layoutIn(options: LayoutInOptions): Tensor {
    return this.record("layout_in", options);
  }

  /** Turns channels-last pixels into planes [B,F,C,H,W]: y = scale · x + shift.
   *  x: [B,F,H,W,C] pixels.
   *  Returns y: [B,F,C,H,W] planes.
   *  Source: https://pytorch.org/tutorials/intermediate/memory_format_tutorial.html
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  layoutOut(options: LayoutOutOptions): Tensor {
    return this.record("layout_out", options);
  }

  /** Multiplies tokens, optionally of two inputs side by side, with a weight matrix and applies the shared epilogue; with geglu the first half of the columns is multiplied by gelu of the second, with swiglu by silu of it.
   *  x: [B,F,S,C] tokens.
   *  x2: [B,F,S,C2] further channels after those of x.
   *  weight: [N,C+C2] one row per output column.
   *  bias: [N] added per output channel.
   *  frameBias: [1|B,1|F,N] added per clip, frame and output channel.
   *  residual: [B,F,S,K] added after the activation.
   *  residual2: [B,F,S,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,F,S,K] result.
   *  Source: https://arxiv.org/abs/2002.05202
   *  Source: huggingface/diffusers@58eb52c src/diffusers/models/activations.py
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  linear(options: LinearOptions): Tensor {
    return this.record("linear", options);
  }

  /** Multiplies tokens with a weight matrix, both in 8 bits of one type with scales, and applies the shared epilogue: y = tail(Σ over blocks of 128 channels of xScale · weightScale · Σ x · weight). Scales that are the same for all blocks are applied once. Sums of float8 products are added up in float32 after at most 1280 channels, so that the error does not grow with their number; sums of integers are exact. Gated activations as in linear.
   *  x: [B,F,S,C] tokens.
   *  xScale: [1|B,1|F,1|S,1|G] of the tokens, as quantize makes them.
   *  weight: [N,C] one row per output column, in the type of x.
   *  weightScale: [1|N,1|G] of the weight's rows, or of blocks of 128 channels of them.
   *  bias: [N] added per output channel.
   *  frameBias: [1|B,1|F,N] added per clip, frame and output channel.
   *  residual: [B,F,S,K] added after the activation.
   *  residual2: [B,F,S,K] a second one, e.g. the other branch of a blend.
   *  Returns y: [B,F,S,K] result; f32 unless `out` is of another type.
   *  Source: https://arxiv.org/abs/2209.05433
   *  Source: https://arxiv.org/abs/2412.19437
   *  Source: https://arxiv.org/abs/2002.05202
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  linearQ8(options: LinearQ8Options): Tensor {
    return this.record("linear_q8", options);
  }

  /** Multiplies tokens as linear_q8 does and rounds the result to 8 bits with one scale that is known before, so that a linear layer in 8 bits follows without a pass of its own: y = round(linear_q8(x) · (1 / yScale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8).
   *  x: [B,F,S,C] tokens.
   *  xScale: [1|B,1|F,1|S,1|G] of the tokens, as quantize makes them.
   *  weight: [N,C] one row per output column, in the type of x.
   *  weightScale: [1|N,1|G] of the weight's rows, or of blocks of 128 channels of them.
   *  bias: [N] added per output channel.
   *  frameBias: [1|B,1|F,N] added per clip, frame and output channel.
   *  residual: [B,F,S,K] added after the activation.
   *  residual2: [B,F,S,K] a second one, e.g. the other branch of a blend.
   *  yScale: [1,1,1,1] what codes stand for multiples of; finite and positive.
   *  Returns y: [B,F,S,K] codes, in the type of x unless `out` is of the other one.
   *  Source: https://arxiv.org/abs/2209.05433
   *  Source: https://arxiv.org/abs/2002.05202
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  linearQ8Codes(options: LinearQ8CodesOptions): Tensor {
    return this.record("linear_q8_codes", options);
  }

  /** Combines up to three tensors element by element: act(aScale · a + bScale · b · c + frameBias).
   *  a: [B,F,S,C] first operand.
   *  b: [B,F,S,C] second operand.
   *  c: [B,F,S,C] factor of the second operand.
   *  frameBias: [1|B,1|F,C] added per clip, frame and channel.
   *  Returns y: [B,F,S,C] result.
   *  Source: huggingface/diffusers@58eb52c src/diffusers/models/activations.py
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  pointwise(options: PointwiseOptions): Tensor {
    return this.record("pointwise", options);
  }

  /** Takes the largest number, or the average, of a window that slides over frames, height and width. Padding never is the largest; in averages it counts as zeros or not at all.
   *  x: [B,F,H,W,C] activations.
   *  Returns y: [B,…,…,…,C] result.
   *  Source: pytorch/pytorch aten/src/ATen/native/Pool.h, AveragePool3d.cpp, DilatedMaxPool3d.cpp
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  pool(options: PoolOptions): Tensor {
    return this.record("pool", options);
  }

  /** Rounds numbers to 8 bits with one scale for the tensor, for each token, or for each block of 128 channels of a token: y = round(x · (1 / scale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8), every operation rounded to float32. A scale that is not given is the largest magnitude of what it is for, divided by 448 or 127, at least 2^-126. NaN counts for no largest magnitude; it stays NaN in f8e4m3 and becomes 0 in i8.
   *  x: [B,F,S,C] tokens, or rows of a weight.
   *  scale: [SB,SF,SS,SG] scales that are known, as from calibration; finite and positive.
   *  Returns y: [B,F,S,C] codes; f8e4m3 unless `out` is i8.
   *  Source: https://arxiv.org/abs/2209.05433
   *  Source: https://arxiv.org/abs/2412.19437
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  quantize(options: QuantizeOptions): Tensor {
    return this.record("quantize", options);
  }

  /** Resizes height and width by nearest neighbour (source index = floor(index · in/out) in float32), bilinear or bicubic (A = −0.75) interpolation without antialiasing.
   *  x: [B,F,H,W,C] activations.
   *  Returns y: [B,F,height,width,C] result.
   *  Source: pytorch/pytorch aten/src/ATen/native/UpSample.h
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  resize(options: ResizeOptions): Tensor {
    return this.record("resize", options);
  }

  /** Divides each token by the root mean square of its channels; then the learned weight, and the modulation of adaptive norms: x / sqrt(mean(x²) + eps) · weight · (1 + scale) + shift.
   *  x: [B,F,S,C] tokens.
   *  weight: [C] learned factor; default 1.
   *  scale: [1|B,1|F,1|S,C] modulates: the normalised token times 1 + scale.
   *  shift: [1|B,1|F,1|S,C] added last.
   *  Returns y: [B,F,S,C] result.
   *  Source: https://arxiv.org/abs/1910.07467
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  rmsNorm(options: RmsNormOptions): Tensor {
    return this.record("rms_norm", options);
  }

  /** One step of a sampler in one launch: guidance per frame, the data prediction kept within bounds and blended with earlier latents, linear combinations of sample, prediction, noise, history and data as the coefficients say, then the denoiser's next input. Noise is given, or drawn on the device.
   *  prediction: [B,F,H,W,C] the denoiser's result; of two rows the unconditional one first.
   *  x: [B1,F,H,W,C] sample before the step.
   *  coefficients: [(numHistory+2)+D,(numHistory+3)+D] rows: next sample, denoised, next history; columns: x, guided prediction, noise, history. With bounds or previous (D = 1) one more row, the data prediction from those terms, and one more column, the weight of what bounds and blend leave of it.
   *  guidance: [F] scale per frame, with two rows.
   *  noise: [B1,F,H,W,C] unit noise; absent where its column is 0.
   *  philox: [4] instead of noise: lower and upper half of a seed, then of the number of engine calls before (torch's offset / 4). Element i of the clip as planes [F,C,H,W] gets what torch.randn(…, device='cuda') gives it.
   *  history: [numHistory,F,H,W,C] what multistep samplers remember.
   *  previous: [B1,1|F,H,W,C] clean latents that the data prediction is blended with, of one frame or of each.
   *  blend: [2] weight of previous, and the largest difference of any channel up to which a pixel is blended.
   *  image: [B1,1,H,W,C2] latents of the picture.
   *  inputScale: [B1] preconditioning factor of the next input; default 1.
   *  Returns next: [B1,F,H,W,C] sample after the step; may be x.
   *  Source: https://arxiv.org/abs/2206.00364 algorithm 1, https://arxiv.org/abs/2211.01095 eq. 9
   *  Source: huggingface/diffusers@58eb52c src/diffusers/schedulers/scheduling_euler_discrete.py `step`
   *  Source: https://arxiv.org/abs/2205.11487 section 2.3 (dynamic thresholding)
   *  Source: J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), Philox4x32-10; pytorch/pytorch aten/src/ATen/native/cuda/DistributionTemplates.h (order of the numbers)
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  samplerStep(options: SamplerStepOptions): Tensor {
    return this.record("sampler_step", options);
  }

  /** Moves frames, height and width into channels: channel = c · block + (dt · bh + dy) · bw + dx.
   *  x: [B,F,H,W,C] activations.
   *  Returns y: [B,F/block,H/block[1],W/block[2],…] result.
   *  Source: https://arxiv.org/abs/1609.05158
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  spaceToDepth(options: SpaceToDepthOptions): Tensor {
    return this.record("space_to_depth", options);
  }

  /** Embeds numbers as cosines then sines of geometric frequencies, computed in float32.
   *  t: [B,N] numbers to embed.
   *  Returns y: [B,N,width] [cos, sin].
   *  Source: https://arxiv.org/abs/1706.03762
   *  Source: huggingface/diffusers@58eb52c src/diffusers/models/embeddings.py get_timestep_embedding
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  timestepEmbedding(options: TimestepEmbeddingOptions): Tensor {
    return this.record("timestep_embedding", options);
  }

  /** Puts a learned token before the others and adds a position embedding to all of them.
   *  x: [B,F,S,C] patch tokens.
   *  token: [C] the class token.
   *  position: [S+1,C] position embeddings.
   *  Returns y: [B,F,S+1,C] result.
   *  Source: https://arxiv.org/abs/2010.11929 eq. 1
   *  @throws VdError `shape`, `dtype` or `attr` naming the argument */
  tokenEmbed(options: TokenEmbedOptions): Tensor {
    return this.record("token_embed", options);
  }
}
