// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.
#pragma once
#include <cstdint>

#include "../core/row.h"
#include "../core/tensor.h"

namespace vd {

enum class AttentionAxis : int32_t { space = 0, time = 1 };
enum class RotaryPairs : int32_t { adjacent = 0, halves = 1 };
enum class AttentionScores : int32_t { f8e4m3 = 0, i8 = 1 };
enum class AttentionValues : int32_t { f8e4m3 = 0, full = 1 };
enum class Activation : int32_t { none = 0, silu = 1, gelu = 2, gelu_tanh = 3, quick_gelu = 4, relu = 5, geglu = 6, swiglu = 7 };
enum class FramePadding : int32_t { zeros = 0, replicate = 1 };
enum class DepthOrder : int32_t { channels_first = 0, channels_last = 1 };
enum class Instruction : int32_t { end = 0, a = 1, b = 2, c = 3, d = 4, k0 = 5, k1 = 6, k2 = 7, k3 = 8, neg = 9, abs = 10, square = 11, sqrt = 12, rsqrt = 13, exp = 14, log = 15, sigmoid = 16, tanh = 17, relu = 18, silu = 19, gelu = 20, gelu_tanh = 21, quick_gelu = 22, add = 23, sub = 24, mul = 25, div = 26, min = 27, max = 28 };
enum class PoolMode : int32_t { max = 0, average = 1 };
enum class ScalesPer : int32_t { tensor = 0, row = 1, block = 2 };
enum class ResizeMode : int32_t { nearest = 0, bilinear = 1, bicubic = 2 };
enum class StepBounds : int32_t { none = 0, clip = 1, threshold = 2 };

/** Computes softmax(scale · q kᵀ + mask) v per head, over the tokens of each frame or over the frames of each token; q and k may be normalised and rotated before. Rows without any allowed key give 0 and a log-sum-exp of −∞. A score that is NaN or +∞ makes its row NaN. */
struct AttentionArgs {
  /** [B,F,S,E]: queries, heads side by side. */
  Tensor q;
  /** [B,Fk,L,E]: keys; over space one frame serves all frames; over time Fk is the number of keys and L = S. */
  Tensor k;
  /** [B,Fk,L,E]: values. */
  Tensor v;
  /** [1|B,1|heads,1|Q,K], may be absent: Q queries and K keys of the axis, the same for all its sequences: floats are added to the scaled scores, a u8 of 0 forbids. */
  Tensor mask;
  /** [N1], may be absent: offsets of packed sequences along the axis, N + 1 of them, the same in every frame (space) or token (time). */
  Tensor cuQ;
  /** [N1], may be absent: offsets of packed sequences among the keys. */
  Tensor cuK;
  /** [E/heads], may be absent: each head of q is divided by its root mean square and multiplied by this. */
  Tensor normQ;
  /** [E/heads], may be absent: the same for k. */
  Tensor normK;
  /** [Q,R], may be absent: cosine and sine of R/2 angles per query, by which pairs of the first R channels of each head are rotated, after the norm. */
  Tensor rotaryQ;
  /** [K,R], may be absent: the same per key. */
  Tensor rotaryK;
  /** [B,F,S,E]: result. */
  Tensor y;
  /** [B,F,heads,S], may be absent: natural log-sum-exp of the masked, scaled scores. */
  Tensor lse;
  /** what a sequence runs over. */
  AttentionAxis axis;
  /** number of heads; E is a multiple. */
  int64_t heads;
  /** factor of the scores, usually 1/sqrt(head dimension). */
  float scale;
  /** row r sees keys 0..r of its sequence, aligned top-left. */
  bool causal;
  /** a query sees keys that lie less than so many frames, rows and columns away in its sequence; 0: however many. */
  int64_t window[3];
  /** rows and columns of a frame, for `window`: element i of a sequence lies in frame i / (rows · columns). With 1 by 1 every element is a frame, so the window's first number counts elements. */
  int64_t grid[2];
  /** channels that are rotated together: 2i and 2i + 1, or i and i + R/2. */
  RotaryPairs pairs;
  /** added to the mean square of a head. */
  float normEps;
};

/** Computes the gradients of attention by its queries, keys and values, those that are given a place, from the result y, the log-sum-exp lse and the gradient dy of the result. Rows without any allowed key add nothing. q and k are those of the products: normalised and rotated if they were. */
struct AttentionBackwardArgs {
  /** [B,F,S,E]: queries, heads side by side. */
  Tensor q;
  /** [B,Fk,L,E]: keys; over space one frame serves all frames; over time Fk is the number of keys and L = S. */
  Tensor k;
  /** [B,Fk,L,E]: values. */
  Tensor v;
  /** [B,F,S,E]: result of attention. */
  Tensor y;
  /** [B,F,heads,S]: its log-sum-exp. */
  Tensor lse;
  /** [B,F,S,E]: gradient by y. */
  Tensor dy;
  /** [1|B,1|heads,1|Q,K], may be absent: Q queries and K keys of the axis, the same for all its sequences: floats are added to the scaled scores, a u8 of 0 forbids. */
  Tensor mask;
  /** [N1], may be absent: offsets of packed sequences along the axis, N + 1 of them, the same in every frame (space) or token (time). */
  Tensor cuQ;
  /** [N1], may be absent: offsets of packed sequences among the keys. */
  Tensor cuK;
  /** [B,F,heads,S]: sums of dy · y over the channels of a head, from which all gradients are computed. */
  Tensor delta;
  /** [B,F,S,E], may be absent: gradient by q. */
  Tensor dq;
  /** [B,Fk,L,E], may be absent: gradient by k; where one frame of keys serves all frames, the sum over them. */
  Tensor dk;
  /** [B,Fk,L,E], may be absent: gradient by v; where one frame of values serves all frames, the sum over them. */
  Tensor dv;
  /** what a sequence runs over. */
  AttentionAxis axis;
  /** number of heads; E is a multiple. */
  int64_t heads;
  /** factor of the scores, usually 1/sqrt(head dimension). */
  float scale;
  /** row r sees keys 0..r of its sequence, aligned top-left. */
  bool causal;
  /** a query sees keys that lie less than so many frames, rows and columns away in its sequence; 0: however many. */
  int64_t window[3];
  /** rows and columns of a frame, for `window`: element i of a sequence lies in frame i / (rows · columns). With 1 by 1 every element is a frame, so the window's first number counts elements. */
  int64_t grid[2];
};

/** Computes softmax(scale · q kᵀ) v per head, over the tokens of each frame or over the frames of each token, of float8 codes with scales that are known: for queries, keys and values that the layer before leaves as codes, where attention_q8 reads numbers and rounds them. Over the tokens of a frame tensor cores add up scores in float16, which codes of q and k of at most 28 in size fit in heads of 64, and round probabilities as attention_q8 does. */
struct AttentionF8Args {
  /** [B,F,S,E]: codes of queries, heads side by side. */
  Tensor q;
  /** [B,Fk,L,E]: codes of keys; over space one frame serves all frames; over time Fk is the number of keys and L = S. */
  Tensor k;
  /** [B,Fk,L,E]: codes of values. */
  Tensor v;
  /** [1,1,1,1]: what codes of q stand for multiples of; finite and positive. */
  Tensor qScale;
  /** [1,1,1,1]: what codes of k stand for multiples of; finite and positive. */
  Tensor kScale;
  /** [1,1,1,1]: what codes of v stand for multiples of; finite and positive. */
  Tensor vScale;
  /** [B,F,S,E]: result; f32 unless `out` is of another type. */
  Tensor y;
  /** what a sequence runs over. */
  AttentionAxis axis;
  /** number of heads; E is a multiple. */
  int64_t heads;
  /** factor of the scores, usually 1/sqrt(head dimension). */
  float scale;
};

/** Computes attention_f8 and rounds the result to float8 with one scale that is known before, so that a linear layer in 8 bits follows without a pass of its own: y = round(attention_f8(q, k, v) · (1 / yScale)), ties to even, saturating at ±448. No result is larger than the largest value, so that the scale can follow from that of values. */
struct AttentionF8CodesArgs {
  /** [B,F,S,E]: codes of queries, heads side by side. */
  Tensor q;
  /** [B,Fk,L,E]: codes of keys; over space one frame serves all frames; over time Fk is the number of keys and L = S. */
  Tensor k;
  /** [B,Fk,L,E]: codes of values. */
  Tensor v;
  /** [1,1,1,1]: what codes of q stand for multiples of; finite and positive. */
  Tensor qScale;
  /** [1,1,1,1]: what codes of k stand for multiples of; finite and positive. */
  Tensor kScale;
  /** [1,1,1,1]: what codes of v stand for multiples of; finite and positive. */
  Tensor vScale;
  /** [1,1,1,1]: what codes stand for multiples of; finite and positive. */
  Tensor yScale;
  /** [B,F,S,E]: codes. */
  Tensor y;
  /** what a sequence runs over. */
  AttentionAxis axis;
  /** number of heads; E is a multiple. */
  int64_t heads;
  /** factor of the scores, usually 1/sqrt(head dimension). */
  float scale;
};

/** Computes softmax(scale · q kᵀ) v per head over the tokens of each frame, with q and k, and v too unless `values` is full, rounded to 8 bits as quantize does it with a scale for each frame and head. Tensor cores also round scores of float8 to float16, and probabilities that multiply 8-bit values to a scale of logarithms relative to their running maximum; sums of probabilities are of the rounded ones. */
struct AttentionQ8Args {
  /** [B,F,S,E]: queries, heads side by side. */
  Tensor q;
  /** [B,Fk,L,E]: keys; one frame may serve all frames. */
  Tensor k;
  /** [B,Fk,L,E]: values. */
  Tensor v;
  /** [B,F,S,E]: result. */
  Tensor y;
  /** number of heads; E is a multiple. */
  int64_t heads;
  /** factor of the scores, usually 1/sqrt(head dimension). */
  float scale;
  /** what q and k are rounded to. */
  AttentionScores scores;
  /** what v is rounded to; full: it is not. */
  AttentionValues values;
};

/** Normalises each channel by the running statistics of a batch norm in evaluation: act((x − mean) / sqrt(variance + eps) · weight + bias). Where a convolution comes before, foldBatchNorm merges both into one at no cost. */
struct BatchNormArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [C]: running mean. */
  Tensor mean;
  /** [C]: running variance, not negative. */
  Tensor variance;
  /** [C], may be absent: learned factor; default 1. */
  Tensor weight;
  /** [C], may be absent: learned summand; default 0. */
  Tensor bias;
  /** [B,F,H,W,C]: result. */
  Tensor y;
  /** added to the variance. */
  float eps;
  /** activation of the result. */
  Activation act;
};

/** Convolves a channels-last clip over frames, height and width and applies the shared epilogue. Before that, `past` frames may stand in front of x, and nearest-2x may double height and width. Padding is zeros; in frames it may repeat the first and the last one. With groups, each group of output channels sees the group of input channels at the same place. Transposed, pixels are spread by the stride instead: 4x4 filters double height and width. Padding by zeros adds nothing on the CPU, whatever the weights; a GPU multiplies its zeros, so that weights which are not finite give NaN at the borders there. Inputs that are not finite reach the results whose windows hold them, as infinities or NaN. */
struct ConvArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [M,D,T,R,S]: filters, as in the checkpoint: [K,C/groups,T,R,S], or transposed [C,K,1,4,4]. */
  Tensor weight;
  /** [K], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|G,K], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,G,P,Q,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,G,P,Q,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,N,H,W,C], may be absent: frames in front of x, of x's type. A clip in chunks gives the same bits as in one piece, where each chunk after the first has the last T − 1 input frames before it here and no padding in front. */
  Tensor past;
  /** [B,G,P,Q,K]: result. */
  Tensor y;
  /** [B,G,K,2], may be absent: mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them. */
  Tensor moments;
  /** steps in frames, height, width. */
  int64_t stride[3];
  /** size at front, back, top, bottom, left, right. */
  int64_t padding[6];
  /** double height and width by nearest neighbour first. */
  bool upsample;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
  /** groups of channels that do not mix; divides C and K. */
  int64_t groups;
  /** what pads in frames: zeros, or the first and the last frame again. */
  FramePadding framePadding;
  /** transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1. */
  bool transposed;
};

/** Convolves a channels-last clip over frames, height and width with zero padding, activations and filters in 8 bits of one type with scales, and applies the shared epilogue: y = tail(xScale · weightScale · Σ x · weight). Sums of at most 1280 float8 products are added up in float32, perhaps rounded to 11 bits before; sums of integers are exact. Transposed, pixels are spread by the stride instead: 4x4 filters double height and width, among them those of nearest-2x with 3x3 filters behind it. */
struct ConvQ8Args {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [1|B,1,1,1]: of the activations: one, or one for each clip. */
  Tensor xScale;
  /** [M,D,T,R,S]: filters in the checkpoint's layout, in the type of x: [K,C,T,R,S], or transposed [C,K,1,4,4]. */
  Tensor weight;
  /** [1|K,1]: of the filters: one, or one for each output channel. */
  Tensor weightScale;
  /** [K], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|G,K], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,G,P,Q,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,G,P,Q,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,G,P,Q,K]: result; f32 unless `out` is of another type. */
  Tensor y;
  /** [B,G,K,2], may be absent: mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them. */
  Tensor moments;
  /** steps in frames, height, width. */
  int64_t stride[3];
  /** zeros at front, back, top, bottom, left, right. */
  int64_t padding[6];
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
  /** transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1. */
  bool transposed;
};

/** Convolves a clip as conv_q8 does and rounds the result to 8 bits with one scale that is known before, so that a convolution in 8 bits follows without a pass of its own: y = round(conv_q8(x) · (1 / yScale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8). */
struct ConvQ8CodesArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [1|B,1,1,1]: of the activations: one, or one for each clip. */
  Tensor xScale;
  /** [M,D,T,R,S]: filters in the checkpoint's layout, in the type of x: [K,C,T,R,S], or transposed [C,K,1,4,4]. */
  Tensor weight;
  /** [1|K,1]: of the filters: one, or one for each output channel. */
  Tensor weightScale;
  /** [K], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|G,K], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,G,P,Q,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,G,P,Q,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [1,1,1,1]: what codes stand for multiples of; finite and positive. */
  Tensor yScale;
  /** [B,G,P,Q,K]: codes, in the type of x unless `out` is of the other one. */
  Tensor y;
  /** steps in frames, height, width. */
  int64_t stride[3];
  /** zeros at front, back, top, bottom, left, right. */
  int64_t padding[6];
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
  /** transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1. */
  bool transposed;
};

/** Convolves every frame of a channels-last clip with 3x3 filters, a step of one and a border of zeros, and applies the shared epilogue, as conv does; before that it may normalise channel groups by given statistics and apply an activation, as group_norm does, also of two inputs side by side. Kernels may use Winograd's F(4x4, 3x3), which needs a quarter of the products; in float16 its error is about five times that of rounding the result. On the CPU, and where a GPU has no kernel for it, the convolution is computed as conv does. */
struct ConvWinogradArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,F,H,W,C2], may be absent: further channels after those of x, where statistics are given. */
  Tensor x2;
  /** [K,C+C2,1,3,3]: filters, as in the checkpoint. */
  Tensor weight;
  /** [B,1|F,N,2], may be absent: mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats. */
  Tensor stats;
  /** [M], may be absent: scale of the normalised channels, [C + C2], where statistics are given. */
  Tensor normWeight;
  /** [L], may be absent: shift of the normalised channels, [C + C2], where statistics are given. */
  Tensor normBias;
  /** [K], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|F,K], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,F,H,W,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,F,H,W,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,F,H,W,K]: result. */
  Tensor y;
  /** activation of the normalised channels. */
  Activation normAct;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Copies tokens into another element type or pixel pitch. */
struct CopyArgs {
  /** [B,F,S,C]: source. */
  Tensor x;
  /** [B,F,S,C]: result, rounded to nearest even. */
  Tensor y;
};

/** Builds the denoiser's input: noisy latents times inputScale, then the image's latents as further channels on every frame; with two rows the first is the unconditional one, whose image latents are zero. */
struct DenoiseInputArgs {
  /** [B1,F,H,W,C]: noisy latents, one clip. */
  Tensor latents;
  /** [B1,1,H,W,C2]: latents of the conditioning picture. */
  Tensor image;
  /** [B1]: preconditioning factor of this step. */
  Tensor inputScale;
  /** [rows,F,H,W,C+C2]: denoiser input. */
  Tensor y;
  /** 1 without guidance, 2 with it. */
  int64_t rows;
};

/** Moves channels into frames, height and width. channels_first: channel = c · block + (dt · bh + dy) · bw + dx, as pixel_shuffle; channels_last: channel = ((dy · bw + dx) · bt + dt) · C + c, as SeedVR's upsampler. */
struct DepthToSpaceArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,F·block,H·block[1],W·block[2],…]: result. */
  Tensor y;
  /** growth of frames, height, width. */
  int64_t block[3];
  /** how channels are numbered. */
  DepthOrder order;
};

/** Computes a small expression of up to four tensors and constants for each element, in float32 and in one pass over memory. The expression is a program in postfix order for a stack of at most four numbers: a to d and k0 to k3 put an operand or a constant on it, functions replace what they take. silu(a + b · c) is a, b, c, mul, add, silu. NaN stays NaN, but min and max give the other number, relu 0. The function elementwise() of @vd/tensor writes such programs. */
struct ElementwiseArgs {
  /** [B,F,S,C]: first operand, of the result's shape. */
  Tensor a;
  /** [1|B,1|F,1|S,1|C], may be absent: second operand. */
  Tensor b;
  /** [1|B,1|F,1|S,1|C], may be absent: third operand. */
  Tensor c;
  /** [1|B,1|F,1|S,1|C], may be absent: fourth operand. */
  Tensor d;
  /** [B,F,S,C]: result. */
  Tensor y;
  /** the program. */
  Instruction code[16];
  /** k0, k1, …. */
  float constants[4];
};

/** Turns decoded frames, nominally in [-1,1], into 8 bits: clamp(x/2 + 0.5, 0, 1) · 255, rounded half to even; NaN gives 0. */
struct FramesOutArgs {
  /** [B,F,H,W,C]: frames. */
  Tensor x;
  /** [B,F,H,W,C]: levels. */
  Tensor y;
};

/** Normalises channel groups of a clip, optionally of two inputs side by side, then applies an activation. */
struct GroupNormArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,F,H,W,C2], may be absent: further channels after those of x. */
  Tensor x2;
  /** [C+C2]: scale. */
  Tensor weight;
  /** [C+C2]: shift. */
  Tensor bias;
  /** [B,…,groups,2], may be absent: mean and 1/sqrt(variance + eps), if computed before by group_norm_stats. */
  Tensor stats;
  /** [B,F,H,W,C+C2]: result. */
  Tensor y;
  /** number of channel groups. */
  int64_t groups;
  /** added to the variance. */
  float eps;
  /** activation of the result. */
  Activation act;
  /** statistics over F, H, W instead of H, W. */
  bool joinFrames;
};

/** Normalises the channel groups of a clip by given statistics and activates, as group_norm does, then convolves every frame with 3x3 filters, zeros around what is normalised, or each pixel's frames with 3x1x1 filters, a step of one, and applies the shared epilogue, as conv does. Kernels need not put the normalised clip into memory. */
struct GroupNormConvArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [K,C,T,R,S]: filters, as in the checkpoint. */
  Tensor weight;
  /** [B,1|F,N,2]: mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats. */
  Tensor stats;
  /** [C]: scale of the normalised channels. */
  Tensor normWeight;
  /** [C]: shift of the normalised channels. */
  Tensor normBias;
  /** [K], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|G,K], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,G,H,W,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,G,H,W,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,G,H,W,K]: result. */
  Tensor y;
  /** [B,G,K,2], may be absent: mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them. */
  Tensor moments;
  /** activation of the normalised channels. */
  Activation normAct;
  /** frames of zeros in front of what is normalised and behind it, for 3x1x1 filters. */
  int64_t temporalPadding[2];
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Normalises the channel groups of a clip by given statistics, activates and rounds to float8 with one scale that is known before, as group_norm_q8 does, then convolves the codes with filters in float8, as conv_q8 does: every frame with 3x3 filters, zeros around what is normalised, or each pixel's frames with 3x1x1 filters, a step of one. Kernels need not put the codes into memory. */
struct GroupNormConvQ8Args {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [1,1,1,1]: what codes of the normalised channels stand for multiples of; finite and positive. */
  Tensor normScale;
  /** [K,C,T,R,S]: codes of filters, in the checkpoint's layout. */
  Tensor weight;
  /** [1|K,1]: of the filters: one, or one for each output channel. */
  Tensor weightScale;
  /** [B,1|F,N,2]: mean and 1/sqrt(variance + eps) of channel groups, from group_norm_stats. */
  Tensor stats;
  /** [C]: scale of the normalised channels. */
  Tensor normWeight;
  /** [C]: shift of the normalised channels. */
  Tensor normBias;
  /** [K], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|G,K], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,G,H,W,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,G,H,W,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,G,H,W,K]: result. */
  Tensor y;
  /** [B,G,K,2], may be absent: mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them. */
  Tensor moments;
  /** activation of the normalised channels. */
  Activation normAct;
  /** frames of zeros in front of what is normalised and behind it, for 3x1x1 filters. */
  int64_t temporalPadding[2];
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Normalises channel groups of a clip as group_norm does and rounds the result to 8 bits with one scale that is known before, so that a convolution in 8 bits follows without a pass of its own: y = round(group_norm(x) · (1 / yScale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8). */
struct GroupNormQ8Args {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,F,H,W,C2], may be absent: further channels after those of x. */
  Tensor x2;
  /** [C+C2]: scale. */
  Tensor weight;
  /** [C+C2]: shift. */
  Tensor bias;
  /** [B,…,groups,2], may be absent: mean and 1/sqrt(variance + eps), if computed before by group_norm_stats. */
  Tensor stats;
  /** [1,1,1,1]: what codes stand for multiples of; finite and positive. */
  Tensor yScale;
  /** [B,F,H,W,C+C2]: codes; f8e4m3 unless `out` is i8. */
  Tensor y;
  /** number of channel groups. */
  int64_t groups;
  /** added to the variance. */
  float eps;
  /** activation of the result. */
  Activation act;
  /** statistics over F, H, W instead of H, W. */
  bool joinFrames;
};

/** Computes mean and 1/sqrt(variance + eps) of channel groups, so that a clip can be normalised in parts. */
struct GroupNormStatsArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,F,H,W,C2], may be absent: further channels after those of x. */
  Tensor x2;
  /** [B,F,C,2], may be absent: mean and biased variance of each channel of each frame of x, as conv finds them; x and x2 are then not read. */
  Tensor moments;
  /** [B,F,C2,2], may be absent: the same of x2. */
  Tensor moments2;
  /** [B,…,groups,2]: mean and 1/sqrt(variance + eps), biased variance. */
  Tensor stats;
  /** number of channel groups. */
  int64_t groups;
  /** added to the variance. */
  float eps;
  /** statistics over F, H, W instead of H, W. */
  bool joinFrames;
};

/** Classifier-free guidance per frame: y = unconditional + scale[f] · (conditional − unconditional). */
struct GuideArgs {
  /** [B,F,H,W,C]: predictions, the unconditional row first. */
  Tensor x;
  /** [F]: guidance per frame. */
  Tensor scale;
  /** [1,F,H,W,C]: guided prediction. */
  Tensor y;
};

/** Normalises each token over its channels to mean 0 and variance 1; then the learned weight and bias, and the modulation of adaptive norms: ((x − mean) / sqrt(variance + eps) · weight + bias) · (1 + scale) + shift. */
struct LayerNormArgs {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [C], may be absent: learned factor; default 1. */
  Tensor weight;
  /** [C], may be absent: learned summand; default 0. */
  Tensor bias;
  /** [1|B,1|F,1|S,C], may be absent: modulates: the normalised token times 1 + scale. */
  Tensor scale;
  /** [1|B,1|F,1|S,C], may be absent: added last. */
  Tensor shift;
  /** [B,F,S,C]: result. */
  Tensor y;
  /** added to the variance. */
  float eps;
};

/** Normalises each token over its channels, as layer_norm does, then multiplies it with a weight matrix and applies the shared epilogue, as linear does: for a norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory. */
struct LayerNormLinearArgs {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [N,C]: one row per output column. */
  Tensor weight;
  /** [C], may be absent: learned factor of the normalised channels; default 1. */
  Tensor normWeight;
  /** [C], may be absent: learned summand of the normalised channels; default 0. */
  Tensor normBias;
  /** [N], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|F,N], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,F,S,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,F,S,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,F,S,K]: result. */
  Tensor y;
  /** added to the variance. */
  float eps;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Normalises each token over its channels and rounds it to float8 with one scale that is known before, as layer_norm_q8 does, then multiplies the codes with a weight matrix in float8 and applies the shared epilogue, as linear_q8 does: for a norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory. */
struct LayerNormLinearQ8Args {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [1,1,1,1]: what codes of the normalised tokens stand for multiples of; finite and positive. */
  Tensor normScale;
  /** [N,C]: codes, one row per output column. */
  Tensor weight;
  /** [1|N,1]: of the weight: one, or one for each row. */
  Tensor weightScale;
  /** [C], may be absent: learned factor of the normalised channels; default 1. */
  Tensor normWeight;
  /** [C], may be absent: learned summand of the normalised channels; default 0. */
  Tensor normBias;
  /** [N], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|F,N], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,F,S,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,F,S,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,F,S,K]: result. */
  Tensor y;
  /** added to the variance. */
  float eps;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Normalises each token over its channels and rounds it to float8 with one scale that is known before, as layer_norm_q8 does, then multiplies the codes with a weight matrix in float8 and rounds the result with another known scale, as linear_q8_codes does: for a norm that one linear layer alone reads. Kernels need not put the normalised tokens into memory. */
struct LayerNormLinearQ8CodesArgs {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [1,1,1,1]: what codes of the normalised tokens stand for multiples of; finite and positive. */
  Tensor normScale;
  /** [N,C]: codes, one row per output column. */
  Tensor weight;
  /** [1|N,1]: of the weight: one, or one for each row. */
  Tensor weightScale;
  /** [C], may be absent: learned factor of the normalised channels; default 1. */
  Tensor normWeight;
  /** [C], may be absent: learned summand of the normalised channels; default 0. */
  Tensor normBias;
  /** [N], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|F,N], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,F,S,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,F,S,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [1,1,1,1]: what codes stand for multiples of; finite and positive. */
  Tensor yScale;
  /** [B,F,S,K]: codes. */
  Tensor y;
  /** added to the variance. */
  float eps;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Normalises each token over its channels as layer_norm does and rounds it to 8 bits with a scale of its own, or with one for all that is known before, so that a linear layer in 8 bits follows without a pass of its own: scales = yScale, or the largest magnitude of the token / 448 (f8e4m3) or 127 (i8), at least 2^-126; y = round(layer_norm(x) · (1 / scales)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8). */
struct LayerNormQ8Args {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [C], may be absent: learned factor; default 1. */
  Tensor weight;
  /** [C], may be absent: learned summand; default 0. */
  Tensor bias;
  /** [1|B,1|F,1|S,C], may be absent: modulates: the normalised token times 1 + scale. */
  Tensor scale;
  /** [1|B,1|F,1|S,C], may be absent: added last. */
  Tensor shift;
  /** [1,1,1,1], may be absent: what codes stand for multiples of; finite and positive; without it each token has a scale of its own. */
  Tensor yScale;
  /** [B,F,S,C]: codes; f8e4m3 unless `out` is i8. */
  Tensor y;
  /** [B,F,S,1], may be absent: what y is to be multiplied with; yScale for each token where that is given. */
  Tensor scales;
  /** added to the variance. */
  float eps;
};

/** Turns planes [B,F,C,H,W] into channels-last pixels: y = scale · x + shift. */
struct LayoutInArgs {
  /** [B,F,C,H,W]: planes. */
  Tensor x;
  /** [B,F,H,W,C]: pixels. */
  Tensor y;
  /** factor. */
  float scale;
  /** added. */
  float shift;
};

/** Turns channels-last pixels into planes [B,F,C,H,W]: y = scale · x + shift. */
struct LayoutOutArgs {
  /** [B,F,H,W,C]: pixels. */
  Tensor x;
  /** [B,F,C,H,W]: planes. */
  Tensor y;
  /** factor. */
  float scale;
  /** added. */
  float shift;
};

/** Multiplies tokens, optionally of two inputs side by side, with a weight matrix and applies the shared epilogue; with geglu the first half of the columns is multiplied by gelu of the second, with swiglu by silu of it. */
struct LinearArgs {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [B,F,S,C2], may be absent: further channels after those of x. */
  Tensor x2;
  /** [N,C+C2]: one row per output column. */
  Tensor weight;
  /** [N], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|F,N], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,F,S,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,F,S,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,F,S,K]: result. */
  Tensor y;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Multiplies tokens with a weight matrix, both in 8 bits of one type with scales, and applies the shared epilogue: y = tail(Σ over blocks of 128 channels of xScale · weightScale · Σ x · weight). Scales that are the same for all blocks are applied once. Sums of float8 products are added up in float32 after at most 1280 channels, so that the error does not grow with their number; sums of integers are exact. Gated activations as in linear. */
struct LinearQ8Args {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [1|B,1|F,1|S,1|G]: of the tokens, as quantize makes them. */
  Tensor xScale;
  /** [N,C]: one row per output column, in the type of x. */
  Tensor weight;
  /** [1|N,1|G]: of the weight's rows, or of blocks of 128 channels of them. */
  Tensor weightScale;
  /** [N], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|F,N], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,F,S,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,F,S,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [B,F,S,K]: result; f32 unless `out` is of another type. */
  Tensor y;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Multiplies tokens as linear_q8 does and rounds the result to 8 bits with one scale that is known before, so that a linear layer in 8 bits follows without a pass of its own: y = round(linear_q8(x) · (1 / yScale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8). */
struct LinearQ8CodesArgs {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [1|B,1|F,1|S,1|G]: of the tokens, as quantize makes them. */
  Tensor xScale;
  /** [N,C]: one row per output column, in the type of x. */
  Tensor weight;
  /** [1|N,1|G]: of the weight's rows, or of blocks of 128 channels of them. */
  Tensor weightScale;
  /** [N], may be absent: added per output channel. */
  Tensor bias;
  /** [1|B,1|F,N], may be absent: added per clip, frame and output channel. */
  Tensor frameBias;
  /** [B,F,S,K], may be absent: added after the activation. */
  Tensor residual;
  /** [B,F,S,K], may be absent: a second one, e.g. the other branch of a blend. */
  Tensor residual2;
  /** [1,1,1,1]: what codes stand for multiples of; finite and positive. */
  Tensor yScale;
  /** [B,F,S,K]: codes, in the type of x unless `out` is of the other one. */
  Tensor y;
  /** activation after the biases. */
  Activation act;
  /** factor of the activated value. */
  float outScale;
  /** factor of `residual`. */
  float residualScale;
  /** factor of `residual2`. */
  float residual2Scale;
};

/** Combines up to three tensors element by element: act(aScale · a + bScale · b · c + frameBias). */
struct PointwiseArgs {
  /** [B,F,S,C]: first operand. */
  Tensor a;
  /** [B,F,S,C], may be absent: second operand. */
  Tensor b;
  /** [B,F,S,C], may be absent: factor of the second operand. */
  Tensor c;
  /** [1|B,1|F,C], may be absent: added per clip, frame and channel. */
  Tensor frameBias;
  /** [B,F,S,C]: result. */
  Tensor y;
  /** factor of a. */
  float aScale;
  /** factor of b. */
  float bScale;
  /** activation of the sum. */
  Activation act;
};

/** Takes the largest number, or the average, of a window that slides over frames, height and width. Padding never is the largest; in averages it counts as zeros or not at all. */
struct PoolArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,…,…,…,C]: result. */
  Tensor y;
  /** what is taken of a window. */
  PoolMode mode;
  /** frames, height and width of a window. */
  int64_t kernel[3];
  /** steps of the window in frames, height and width. */
  int64_t stride[3];
  /** before and behind frames, height and width. */
  int64_t padding[6];
  /** averages count padding as zeros; else they leave it out. */
  bool countIncludePad;
};

/** Rounds numbers to 8 bits with one scale for the tensor, for each token, or for each block of 128 channels of a token: y = round(x · (1 / scale)), ties to even, saturating at ±448 (f8e4m3) or ±127 (i8), every operation rounded to float32. A scale that is not given is the largest magnitude of what it is for, divided by 448 or 127, at least 2^-126. NaN counts for no largest magnitude; it stays NaN in f8e4m3 and becomes 0 in i8. */
struct QuantizeArgs {
  /** [B,F,S,C]: tokens, or rows of a weight. */
  Tensor x;
  /** [SB,SF,SS,SG], may be absent: scales that are known, as from calibration; finite and positive. */
  Tensor scale;
  /** [B,F,S,C]: codes; f8e4m3 unless `out` is i8. */
  Tensor y;
  /** [SB,SF,SS,SG], may be absent: what y is to be multiplied with. */
  Tensor scales;
  /** what has a scale of its own. */
  ScalesPer per;
};

/** Resizes height and width by nearest neighbour (source index = floor(index · in/out) in float32), bilinear or bicubic (A = −0.75) interpolation without antialiasing. */
struct ResizeArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,F,height,width,C]: result. */
  Tensor y;
  /** rows of the result. */
  int64_t height;
  /** columns of the result. */
  int64_t width;
  /** interpolation. */
  ResizeMode mode;
  /** the corners' centres coincide (bilinear and bicubic). */
  bool alignCorners;
};

/** Divides each token by the root mean square of its channels; then the learned weight, and the modulation of adaptive norms: x / sqrt(mean(x²) + eps) · weight · (1 + scale) + shift. */
struct RmsNormArgs {
  /** [B,F,S,C]: tokens. */
  Tensor x;
  /** [C], may be absent: learned factor; default 1. */
  Tensor weight;
  /** [1|B,1|F,1|S,C], may be absent: modulates: the normalised token times 1 + scale. */
  Tensor scale;
  /** [1|B,1|F,1|S,C], may be absent: added last. */
  Tensor shift;
  /** [B,F,S,C]: result. */
  Tensor y;
  /** added to the mean square. */
  float eps;
};

/** One step of a sampler in one launch: guidance per frame, the data prediction kept within bounds and blended with earlier latents, linear combinations of sample, prediction, noise, history and data as the coefficients say, then the denoiser's next input. Noise is given, or drawn on the device. */
struct SamplerStepArgs {
  /** [B,F,H,W,C]: the denoiser's result; of two rows the unconditional one first. */
  Tensor prediction;
  /** [B1,F,H,W,C]: sample before the step. */
  Tensor x;
  /** [(numHistory+2)+D,(numHistory+3)+D]: rows: next sample, denoised, next history; columns: x, guided prediction, noise, history. With bounds or previous (D = 1) one more row, the data prediction from those terms, and one more column, the weight of what bounds and blend leave of it. */
  Tensor coefficients;
  /** [F], may be absent: scale per frame, with two rows. */
  Tensor guidance;
  /** [B1,F,H,W,C], may be absent: unit noise; absent where its column is 0. */
  Tensor noise;
  /** [4], may be absent: instead of noise: lower and upper half of a seed, then of the number of engine calls before (torch's offset / 4). Element i of the clip as planes [F,C,H,W] gets what torch.randn(…, device='cuda') gives it. */
  Tensor philox;
  /** [numHistory,F,H,W,C], may be absent: what multistep samplers remember. */
  Tensor history;
  /** [B1,1|F,H,W,C], may be absent: clean latents that the data prediction is blended with, of one frame or of each. */
  Tensor previous;
  /** [2], may be absent: weight of previous, and the largest difference of any channel up to which a pixel is blended. */
  Tensor blend;
  /** [B1,1,H,W,C2], may be absent: latents of the picture. */
  Tensor image;
  /** [B1], may be absent: preconditioning factor of the next input; default 1. */
  Tensor inputScale;
  /** [B1,F,H,W,C]: sample after the step; may be x. */
  Tensor next;
  /** [B1,F,H,W,C], may be absent: guess of the clean latents. */
  Tensor denoised;
  /** [numHistory,F,H,W,C], may be absent: history after the step; may be history. */
  Tensor nextHistory;
  /** [B,F,H,W,C+C2], may be absent: the denoiser's next input, as denoise_input makes it; without image only the sample's channels. */
  Tensor input;
  /** tensors of history. */
  int64_t numHistory;
  /** how the data prediction is bounded: clip to ±clipRange, or dynamic thresholding: to ±s, then over s, where s is the clip's quantile of magnitudes, at least 1 and at most maxValue. */
  StepBounds bounds;
  /** largest magnitude that clip leaves. */
  float clipRange;
  /** which quantile thresholding takes, interpolated linearly. */
  float quantile;
  /** largest s of thresholding. */
  float maxValue;
  /** threads of torch's kernel, among which philox numbers are dealt; default one per element. */
  int64_t lanes;
};

/** Moves frames, height and width into channels: channel = c · block + (dt · bh + dy) · bw + dx. */
struct SpaceToDepthArgs {
  /** [B,F,H,W,C]: activations. */
  Tensor x;
  /** [B,F/block,H/block[1],W/block[2],…]: result. */
  Tensor y;
  /** shrinkage of frames, height, width. */
  int64_t block[3];
};

/** Embeds numbers as cosines then sines of geometric frequencies, computed in float32. */
struct TimestepEmbeddingArgs {
  /** [B,N]: numbers to embed. */
  Tensor t;
  /** [B,N,width]: [cos, sin]. */
  Tensor y;
  /** channels per number, even. */
  int64_t width;
  /** longest period. */
  float maxPeriod;
  /** subtracted from width/2 in the exponent's divisor. */
  float downscaleShift;
};

/** Puts a learned token before the others and adds a position embedding to all of them. */
struct TokenEmbedArgs {
  /** [B,F,S,C]: patch tokens. */
  Tensor x;
  /** [C]: the class token. */
  Tensor token;
  /** [S+1,C]: position embeddings. */
  Tensor position;
  /** [B,F,S+1,C]: result. */
  Tensor y;
};

inline AttentionArgs read_attention_args(const Row& row) {
  AttentionArgs args{};
  args.q = row.tensors[0];
  args.k = row.tensors[1];
  args.v = row.tensors[2];
  args.mask = row.tensors[3];
  args.cuQ = row.tensors[4];
  args.cuK = row.tensors[5];
  args.normQ = row.tensors[6];
  args.normK = row.tensors[7];
  args.rotaryQ = row.tensors[8];
  args.rotaryK = row.tensors[9];
  args.y = row.tensors[10];
  args.lse = row.tensors[11];
  args.axis = static_cast<AttentionAxis>(static_cast<int32_t>(row.attrs[0]));
  args.heads = static_cast<int64_t>(row.attrs[1]);
  args.scale = static_cast<float>(row.attrs[2]);
  args.causal = row.attrs[3] != 0;
  args.window[0] = static_cast<int64_t>(row.attrs[4]);
  args.window[1] = static_cast<int64_t>(row.attrs[5]);
  args.window[2] = static_cast<int64_t>(row.attrs[6]);
  args.grid[0] = static_cast<int64_t>(row.attrs[7]);
  args.grid[1] = static_cast<int64_t>(row.attrs[8]);
  args.pairs = static_cast<RotaryPairs>(static_cast<int32_t>(row.attrs[9]));
  args.normEps = static_cast<float>(row.attrs[10]);
  return args;
}

inline AttentionBackwardArgs read_attention_backward_args(const Row& row) {
  AttentionBackwardArgs args{};
  args.q = row.tensors[0];
  args.k = row.tensors[1];
  args.v = row.tensors[2];
  args.y = row.tensors[3];
  args.lse = row.tensors[4];
  args.dy = row.tensors[5];
  args.mask = row.tensors[6];
  args.cuQ = row.tensors[7];
  args.cuK = row.tensors[8];
  args.delta = row.tensors[9];
  args.dq = row.tensors[10];
  args.dk = row.tensors[11];
  args.dv = row.tensors[12];
  args.axis = static_cast<AttentionAxis>(static_cast<int32_t>(row.attrs[0]));
  args.heads = static_cast<int64_t>(row.attrs[1]);
  args.scale = static_cast<float>(row.attrs[2]);
  args.causal = row.attrs[3] != 0;
  args.window[0] = static_cast<int64_t>(row.attrs[4]);
  args.window[1] = static_cast<int64_t>(row.attrs[5]);
  args.window[2] = static_cast<int64_t>(row.attrs[6]);
  args.grid[0] = static_cast<int64_t>(row.attrs[7]);
  args.grid[1] = static_cast<int64_t>(row.attrs[8]);
  return args;
}

inline AttentionF8Args read_attention_f8_args(const Row& row) {
  AttentionF8Args args{};
  args.q = row.tensors[0];
  args.k = row.tensors[1];
  args.v = row.tensors[2];
  args.qScale = row.tensors[3];
  args.kScale = row.tensors[4];
  args.vScale = row.tensors[5];
  args.y = row.tensors[6];
  args.axis = static_cast<AttentionAxis>(static_cast<int32_t>(row.attrs[0]));
  args.heads = static_cast<int64_t>(row.attrs[1]);
  args.scale = static_cast<float>(row.attrs[2]);
  return args;
}

inline AttentionF8CodesArgs read_attention_f8_codes_args(const Row& row) {
  AttentionF8CodesArgs args{};
  args.q = row.tensors[0];
  args.k = row.tensors[1];
  args.v = row.tensors[2];
  args.qScale = row.tensors[3];
  args.kScale = row.tensors[4];
  args.vScale = row.tensors[5];
  args.yScale = row.tensors[6];
  args.y = row.tensors[7];
  args.axis = static_cast<AttentionAxis>(static_cast<int32_t>(row.attrs[0]));
  args.heads = static_cast<int64_t>(row.attrs[1]);
  args.scale = static_cast<float>(row.attrs[2]);
  return args;
}

inline AttentionQ8Args read_attention_q8_args(const Row& row) {
  AttentionQ8Args args{};
  args.q = row.tensors[0];
  args.k = row.tensors[1];
  args.v = row.tensors[2];
  args.y = row.tensors[3];
  args.heads = static_cast<int64_t>(row.attrs[0]);
  args.scale = static_cast<float>(row.attrs[1]);
  args.scores = static_cast<AttentionScores>(static_cast<int32_t>(row.attrs[2]));
  args.values = static_cast<AttentionValues>(static_cast<int32_t>(row.attrs[3]));
  return args;
}

inline BatchNormArgs read_batch_norm_args(const Row& row) {
  BatchNormArgs args{};
  args.x = row.tensors[0];
  args.mean = row.tensors[1];
  args.variance = row.tensors[2];
  args.weight = row.tensors[3];
  args.bias = row.tensors[4];
  args.y = row.tensors[5];
  args.eps = static_cast<float>(row.attrs[0]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[1]));
  return args;
}

inline ConvArgs read_conv_args(const Row& row) {
  ConvArgs args{};
  args.x = row.tensors[0];
  args.weight = row.tensors[1];
  args.bias = row.tensors[2];
  args.frameBias = row.tensors[3];
  args.residual = row.tensors[4];
  args.residual2 = row.tensors[5];
  args.past = row.tensors[6];
  args.y = row.tensors[7];
  args.moments = row.tensors[8];
  args.stride[0] = static_cast<int64_t>(row.attrs[0]);
  args.stride[1] = static_cast<int64_t>(row.attrs[1]);
  args.stride[2] = static_cast<int64_t>(row.attrs[2]);
  args.padding[0] = static_cast<int64_t>(row.attrs[3]);
  args.padding[1] = static_cast<int64_t>(row.attrs[4]);
  args.padding[2] = static_cast<int64_t>(row.attrs[5]);
  args.padding[3] = static_cast<int64_t>(row.attrs[6]);
  args.padding[4] = static_cast<int64_t>(row.attrs[7]);
  args.padding[5] = static_cast<int64_t>(row.attrs[8]);
  args.upsample = row.attrs[9] != 0;
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[10]));
  args.outScale = static_cast<float>(row.attrs[11]);
  args.residualScale = static_cast<float>(row.attrs[12]);
  args.residual2Scale = static_cast<float>(row.attrs[13]);
  args.groups = static_cast<int64_t>(row.attrs[14]);
  args.framePadding = static_cast<FramePadding>(static_cast<int32_t>(row.attrs[15]));
  args.transposed = row.attrs[16] != 0;
  return args;
}

inline ConvQ8Args read_conv_q8_args(const Row& row) {
  ConvQ8Args args{};
  args.x = row.tensors[0];
  args.xScale = row.tensors[1];
  args.weight = row.tensors[2];
  args.weightScale = row.tensors[3];
  args.bias = row.tensors[4];
  args.frameBias = row.tensors[5];
  args.residual = row.tensors[6];
  args.residual2 = row.tensors[7];
  args.y = row.tensors[8];
  args.moments = row.tensors[9];
  args.stride[0] = static_cast<int64_t>(row.attrs[0]);
  args.stride[1] = static_cast<int64_t>(row.attrs[1]);
  args.stride[2] = static_cast<int64_t>(row.attrs[2]);
  args.padding[0] = static_cast<int64_t>(row.attrs[3]);
  args.padding[1] = static_cast<int64_t>(row.attrs[4]);
  args.padding[2] = static_cast<int64_t>(row.attrs[5]);
  args.padding[3] = static_cast<int64_t>(row.attrs[6]);
  args.padding[4] = static_cast<int64_t>(row.attrs[7]);
  args.padding[5] = static_cast<int64_t>(row.attrs[8]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[9]));
  args.outScale = static_cast<float>(row.attrs[10]);
  args.residualScale = static_cast<float>(row.attrs[11]);
  args.residual2Scale = static_cast<float>(row.attrs[12]);
  args.transposed = row.attrs[13] != 0;
  return args;
}

inline ConvQ8CodesArgs read_conv_q8_codes_args(const Row& row) {
  ConvQ8CodesArgs args{};
  args.x = row.tensors[0];
  args.xScale = row.tensors[1];
  args.weight = row.tensors[2];
  args.weightScale = row.tensors[3];
  args.bias = row.tensors[4];
  args.frameBias = row.tensors[5];
  args.residual = row.tensors[6];
  args.residual2 = row.tensors[7];
  args.yScale = row.tensors[8];
  args.y = row.tensors[9];
  args.stride[0] = static_cast<int64_t>(row.attrs[0]);
  args.stride[1] = static_cast<int64_t>(row.attrs[1]);
  args.stride[2] = static_cast<int64_t>(row.attrs[2]);
  args.padding[0] = static_cast<int64_t>(row.attrs[3]);
  args.padding[1] = static_cast<int64_t>(row.attrs[4]);
  args.padding[2] = static_cast<int64_t>(row.attrs[5]);
  args.padding[3] = static_cast<int64_t>(row.attrs[6]);
  args.padding[4] = static_cast<int64_t>(row.attrs[7]);
  args.padding[5] = static_cast<int64_t>(row.attrs[8]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[9]));
  args.outScale = static_cast<float>(row.attrs[10]);
  args.residualScale = static_cast<float>(row.attrs[11]);
  args.residual2Scale = static_cast<float>(row.attrs[12]);
  args.transposed = row.attrs[13] != 0;
  return args;
}

inline ConvWinogradArgs read_conv_winograd_args(const Row& row) {
  ConvWinogradArgs args{};
  args.x = row.tensors[0];
  args.x2 = row.tensors[1];
  args.weight = row.tensors[2];
  args.stats = row.tensors[3];
  args.normWeight = row.tensors[4];
  args.normBias = row.tensors[5];
  args.bias = row.tensors[6];
  args.frameBias = row.tensors[7];
  args.residual = row.tensors[8];
  args.residual2 = row.tensors[9];
  args.y = row.tensors[10];
  args.normAct = static_cast<Activation>(static_cast<int32_t>(row.attrs[0]));
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[1]));
  args.outScale = static_cast<float>(row.attrs[2]);
  args.residualScale = static_cast<float>(row.attrs[3]);
  args.residual2Scale = static_cast<float>(row.attrs[4]);
  return args;
}

inline CopyArgs read_copy_args(const Row& row) {
  CopyArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  return args;
}

inline DenoiseInputArgs read_denoise_input_args(const Row& row) {
  DenoiseInputArgs args{};
  args.latents = row.tensors[0];
  args.image = row.tensors[1];
  args.inputScale = row.tensors[2];
  args.y = row.tensors[3];
  args.rows = static_cast<int64_t>(row.attrs[0]);
  return args;
}

inline DepthToSpaceArgs read_depth_to_space_args(const Row& row) {
  DepthToSpaceArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  args.block[0] = static_cast<int64_t>(row.attrs[0]);
  args.block[1] = static_cast<int64_t>(row.attrs[1]);
  args.block[2] = static_cast<int64_t>(row.attrs[2]);
  args.order = static_cast<DepthOrder>(static_cast<int32_t>(row.attrs[3]));
  return args;
}

inline ElementwiseArgs read_elementwise_args(const Row& row) {
  ElementwiseArgs args{};
  args.a = row.tensors[0];
  args.b = row.tensors[1];
  args.c = row.tensors[2];
  args.d = row.tensors[3];
  args.y = row.tensors[4];
  args.code[0] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[0]));
  args.code[1] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[1]));
  args.code[2] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[2]));
  args.code[3] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[3]));
  args.code[4] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[4]));
  args.code[5] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[5]));
  args.code[6] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[6]));
  args.code[7] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[7]));
  args.code[8] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[8]));
  args.code[9] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[9]));
  args.code[10] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[10]));
  args.code[11] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[11]));
  args.code[12] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[12]));
  args.code[13] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[13]));
  args.code[14] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[14]));
  args.code[15] = static_cast<Instruction>(static_cast<int32_t>(row.attrs[15]));
  args.constants[0] = static_cast<float>(row.attrs[16]);
  args.constants[1] = static_cast<float>(row.attrs[17]);
  args.constants[2] = static_cast<float>(row.attrs[18]);
  args.constants[3] = static_cast<float>(row.attrs[19]);
  return args;
}

inline FramesOutArgs read_frames_out_args(const Row& row) {
  FramesOutArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  return args;
}

inline GroupNormArgs read_group_norm_args(const Row& row) {
  GroupNormArgs args{};
  args.x = row.tensors[0];
  args.x2 = row.tensors[1];
  args.weight = row.tensors[2];
  args.bias = row.tensors[3];
  args.stats = row.tensors[4];
  args.y = row.tensors[5];
  args.groups = static_cast<int64_t>(row.attrs[0]);
  args.eps = static_cast<float>(row.attrs[1]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[2]));
  args.joinFrames = row.attrs[3] != 0;
  return args;
}

inline GroupNormConvArgs read_group_norm_conv_args(const Row& row) {
  GroupNormConvArgs args{};
  args.x = row.tensors[0];
  args.weight = row.tensors[1];
  args.stats = row.tensors[2];
  args.normWeight = row.tensors[3];
  args.normBias = row.tensors[4];
  args.bias = row.tensors[5];
  args.frameBias = row.tensors[6];
  args.residual = row.tensors[7];
  args.residual2 = row.tensors[8];
  args.y = row.tensors[9];
  args.moments = row.tensors[10];
  args.normAct = static_cast<Activation>(static_cast<int32_t>(row.attrs[0]));
  args.temporalPadding[0] = static_cast<int64_t>(row.attrs[1]);
  args.temporalPadding[1] = static_cast<int64_t>(row.attrs[2]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[3]));
  args.outScale = static_cast<float>(row.attrs[4]);
  args.residualScale = static_cast<float>(row.attrs[5]);
  args.residual2Scale = static_cast<float>(row.attrs[6]);
  return args;
}

inline GroupNormConvQ8Args read_group_norm_conv_q8_args(const Row& row) {
  GroupNormConvQ8Args args{};
  args.x = row.tensors[0];
  args.normScale = row.tensors[1];
  args.weight = row.tensors[2];
  args.weightScale = row.tensors[3];
  args.stats = row.tensors[4];
  args.normWeight = row.tensors[5];
  args.normBias = row.tensors[6];
  args.bias = row.tensors[7];
  args.frameBias = row.tensors[8];
  args.residual = row.tensors[9];
  args.residual2 = row.tensors[10];
  args.y = row.tensors[11];
  args.moments = row.tensors[12];
  args.normAct = static_cast<Activation>(static_cast<int32_t>(row.attrs[0]));
  args.temporalPadding[0] = static_cast<int64_t>(row.attrs[1]);
  args.temporalPadding[1] = static_cast<int64_t>(row.attrs[2]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[3]));
  args.outScale = static_cast<float>(row.attrs[4]);
  args.residualScale = static_cast<float>(row.attrs[5]);
  args.residual2Scale = static_cast<float>(row.attrs[6]);
  return args;
}

inline GroupNormQ8Args read_group_norm_q8_args(const Row& row) {
  GroupNormQ8Args args{};
  args.x = row.tensors[0];
  args.x2 = row.tensors[1];
  args.weight = row.tensors[2];
  args.bias = row.tensors[3];
  args.stats = row.tensors[4];
  args.yScale = row.tensors[5];
  args.y = row.tensors[6];
  args.groups = static_cast<int64_t>(row.attrs[0]);
  args.eps = static_cast<float>(row.attrs[1]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[2]));
  args.joinFrames = row.attrs[3] != 0;
  return args;
}

inline GroupNormStatsArgs read_group_norm_stats_args(const Row& row) {
  GroupNormStatsArgs args{};
  args.x = row.tensors[0];
  args.x2 = row.tensors[1];
  args.moments = row.tensors[2];
  args.moments2 = row.tensors[3];
  args.stats = row.tensors[4];
  args.groups = static_cast<int64_t>(row.attrs[0]);
  args.eps = static_cast<float>(row.attrs[1]);
  args.joinFrames = row.attrs[2] != 0;
  return args;
}

inline GuideArgs read_guide_args(const Row& row) {
  GuideArgs args{};
  args.x = row.tensors[0];
  args.scale = row.tensors[1];
  args.y = row.tensors[2];
  return args;
}

inline LayerNormArgs read_layer_norm_args(const Row& row) {
  LayerNormArgs args{};
  args.x = row.tensors[0];
  args.weight = row.tensors[1];
  args.bias = row.tensors[2];
  args.scale = row.tensors[3];
  args.shift = row.tensors[4];
  args.y = row.tensors[5];
  args.eps = static_cast<float>(row.attrs[0]);
  return args;
}

inline LayerNormLinearArgs read_layer_norm_linear_args(const Row& row) {
  LayerNormLinearArgs args{};
  args.x = row.tensors[0];
  args.weight = row.tensors[1];
  args.normWeight = row.tensors[2];
  args.normBias = row.tensors[3];
  args.bias = row.tensors[4];
  args.frameBias = row.tensors[5];
  args.residual = row.tensors[6];
  args.residual2 = row.tensors[7];
  args.y = row.tensors[8];
  args.eps = static_cast<float>(row.attrs[0]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[1]));
  args.outScale = static_cast<float>(row.attrs[2]);
  args.residualScale = static_cast<float>(row.attrs[3]);
  args.residual2Scale = static_cast<float>(row.attrs[4]);
  return args;
}

inline LayerNormLinearQ8Args read_layer_norm_linear_q8_args(const Row& row) {
  LayerNormLinearQ8Args args{};
  args.x = row.tensors[0];
  args.normScale = row.tensors[1];
  args.weight = row.tensors[2];
  args.weightScale = row.tensors[3];
  args.normWeight = row.tensors[4];
  args.normBias = row.tensors[5];
  args.bias = row.tensors[6];
  args.frameBias = row.tensors[7];
  args.residual = row.tensors[8];
  args.residual2 = row.tensors[9];
  args.y = row.tensors[10];
  args.eps = static_cast<float>(row.attrs[0]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[1]));
  args.outScale = static_cast<float>(row.attrs[2]);
  args.residualScale = static_cast<float>(row.attrs[3]);
  args.residual2Scale = static_cast<float>(row.attrs[4]);
  return args;
}

inline LayerNormLinearQ8CodesArgs read_layer_norm_linear_q8_codes_args(const Row& row) {
  LayerNormLinearQ8CodesArgs args{};
  args.x = row.tensors[0];
  args.normScale = row.tensors[1];
  args.weight = row.tensors[2];
  args.weightScale = row.tensors[3];
  args.normWeight = row.tensors[4];
  args.normBias = row.tensors[5];
  args.bias = row.tensors[6];
  args.frameBias = row.tensors[7];
  args.residual = row.tensors[8];
  args.residual2 = row.tensors[9];
  args.yScale = row.tensors[10];
  args.y = row.tensors[11];
  args.eps = static_cast<float>(row.attrs[0]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[1]));
  args.outScale = static_cast<float>(row.attrs[2]);
  args.residualScale = static_cast<float>(row.attrs[3]);
  args.residual2Scale = static_cast<float>(row.attrs[4]);
  return args;
}

inline LayerNormQ8Args read_layer_norm_q8_args(const Row& row) {
  LayerNormQ8Args args{};
  args.x = row.tensors[0];
  args.weight = row.tensors[1];
  args.bias = row.tensors[2];
  args.scale = row.tensors[3];
  args.shift = row.tensors[4];
  args.yScale = row.tensors[5];
  args.y = row.tensors[6];
  args.scales = row.tensors[7];
  args.eps = static_cast<float>(row.attrs[0]);
  return args;
}

inline LayoutInArgs read_layout_in_args(const Row& row) {
  LayoutInArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  args.scale = static_cast<float>(row.attrs[0]);
  args.shift = static_cast<float>(row.attrs[1]);
  return args;
}

inline LayoutOutArgs read_layout_out_args(const Row& row) {
  LayoutOutArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  args.scale = static_cast<float>(row.attrs[0]);
  args.shift = static_cast<float>(row.attrs[1]);
  return args;
}

inline LinearArgs read_linear_args(const Row& row) {
  LinearArgs args{};
  args.x = row.tensors[0];
  args.x2 = row.tensors[1];
  args.weight = row.tensors[2];
  args.bias = row.tensors[3];
  args.frameBias = row.tensors[4];
  args.residual = row.tensors[5];
  args.residual2 = row.tensors[6];
  args.y = row.tensors[7];
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[0]));
  args.outScale = static_cast<float>(row.attrs[1]);
  args.residualScale = static_cast<float>(row.attrs[2]);
  args.residual2Scale = static_cast<float>(row.attrs[3]);
  return args;
}

inline LinearQ8Args read_linear_q8_args(const Row& row) {
  LinearQ8Args args{};
  args.x = row.tensors[0];
  args.xScale = row.tensors[1];
  args.weight = row.tensors[2];
  args.weightScale = row.tensors[3];
  args.bias = row.tensors[4];
  args.frameBias = row.tensors[5];
  args.residual = row.tensors[6];
  args.residual2 = row.tensors[7];
  args.y = row.tensors[8];
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[0]));
  args.outScale = static_cast<float>(row.attrs[1]);
  args.residualScale = static_cast<float>(row.attrs[2]);
  args.residual2Scale = static_cast<float>(row.attrs[3]);
  return args;
}

inline LinearQ8CodesArgs read_linear_q8_codes_args(const Row& row) {
  LinearQ8CodesArgs args{};
  args.x = row.tensors[0];
  args.xScale = row.tensors[1];
  args.weight = row.tensors[2];
  args.weightScale = row.tensors[3];
  args.bias = row.tensors[4];
  args.frameBias = row.tensors[5];
  args.residual = row.tensors[6];
  args.residual2 = row.tensors[7];
  args.yScale = row.tensors[8];
  args.y = row.tensors[9];
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[0]));
  args.outScale = static_cast<float>(row.attrs[1]);
  args.residualScale = static_cast<float>(row.attrs[2]);
  args.residual2Scale = static_cast<float>(row.attrs[3]);
  return args;
}

inline PointwiseArgs read_pointwise_args(const Row& row) {
  PointwiseArgs args{};
  args.a = row.tensors[0];
  args.b = row.tensors[1];
  args.c = row.tensors[2];
  args.frameBias = row.tensors[3];
  args.y = row.tensors[4];
  args.aScale = static_cast<float>(row.attrs[0]);
  args.bScale = static_cast<float>(row.attrs[1]);
  args.act = static_cast<Activation>(static_cast<int32_t>(row.attrs[2]));
  return args;
}

inline PoolArgs read_pool_args(const Row& row) {
  PoolArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  args.mode = static_cast<PoolMode>(static_cast<int32_t>(row.attrs[0]));
  args.kernel[0] = static_cast<int64_t>(row.attrs[1]);
  args.kernel[1] = static_cast<int64_t>(row.attrs[2]);
  args.kernel[2] = static_cast<int64_t>(row.attrs[3]);
  args.stride[0] = static_cast<int64_t>(row.attrs[4]);
  args.stride[1] = static_cast<int64_t>(row.attrs[5]);
  args.stride[2] = static_cast<int64_t>(row.attrs[6]);
  args.padding[0] = static_cast<int64_t>(row.attrs[7]);
  args.padding[1] = static_cast<int64_t>(row.attrs[8]);
  args.padding[2] = static_cast<int64_t>(row.attrs[9]);
  args.padding[3] = static_cast<int64_t>(row.attrs[10]);
  args.padding[4] = static_cast<int64_t>(row.attrs[11]);
  args.padding[5] = static_cast<int64_t>(row.attrs[12]);
  args.countIncludePad = row.attrs[13] != 0;
  return args;
}

inline QuantizeArgs read_quantize_args(const Row& row) {
  QuantizeArgs args{};
  args.x = row.tensors[0];
  args.scale = row.tensors[1];
  args.y = row.tensors[2];
  args.scales = row.tensors[3];
  args.per = static_cast<ScalesPer>(static_cast<int32_t>(row.attrs[0]));
  return args;
}

inline ResizeArgs read_resize_args(const Row& row) {
  ResizeArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  args.height = static_cast<int64_t>(row.attrs[0]);
  args.width = static_cast<int64_t>(row.attrs[1]);
  args.mode = static_cast<ResizeMode>(static_cast<int32_t>(row.attrs[2]));
  args.alignCorners = row.attrs[3] != 0;
  return args;
}

inline RmsNormArgs read_rms_norm_args(const Row& row) {
  RmsNormArgs args{};
  args.x = row.tensors[0];
  args.weight = row.tensors[1];
  args.scale = row.tensors[2];
  args.shift = row.tensors[3];
  args.y = row.tensors[4];
  args.eps = static_cast<float>(row.attrs[0]);
  return args;
}

inline SamplerStepArgs read_sampler_step_args(const Row& row) {
  SamplerStepArgs args{};
  args.prediction = row.tensors[0];
  args.x = row.tensors[1];
  args.coefficients = row.tensors[2];
  args.guidance = row.tensors[3];
  args.noise = row.tensors[4];
  args.philox = row.tensors[5];
  args.history = row.tensors[6];
  args.previous = row.tensors[7];
  args.blend = row.tensors[8];
  args.image = row.tensors[9];
  args.inputScale = row.tensors[10];
  args.next = row.tensors[11];
  args.denoised = row.tensors[12];
  args.nextHistory = row.tensors[13];
  args.input = row.tensors[14];
  args.numHistory = static_cast<int64_t>(row.attrs[0]);
  args.bounds = static_cast<StepBounds>(static_cast<int32_t>(row.attrs[1]));
  args.clipRange = static_cast<float>(row.attrs[2]);
  args.quantile = static_cast<float>(row.attrs[3]);
  args.maxValue = static_cast<float>(row.attrs[4]);
  args.lanes = static_cast<int64_t>(row.attrs[5]);
  return args;
}

inline SpaceToDepthArgs read_space_to_depth_args(const Row& row) {
  SpaceToDepthArgs args{};
  args.x = row.tensors[0];
  args.y = row.tensors[1];
  args.block[0] = static_cast<int64_t>(row.attrs[0]);
  args.block[1] = static_cast<int64_t>(row.attrs[1]);
  args.block[2] = static_cast<int64_t>(row.attrs[2]);
  return args;
}

inline TimestepEmbeddingArgs read_timestep_embedding_args(const Row& row) {
  TimestepEmbeddingArgs args{};
  args.t = row.tensors[0];
  args.y = row.tensors[1];
  args.width = static_cast<int64_t>(row.attrs[0]);
  args.maxPeriod = static_cast<float>(row.attrs[1]);
  args.downscaleShift = static_cast<float>(row.attrs[2]);
  return args;
}

inline TokenEmbedArgs read_token_embed_args(const Row& row) {
  TokenEmbedArgs args{};
  args.x = row.tensors[0];
  args.token = row.tensors[1];
  args.position = row.tensors[2];
  args.y = row.tensors[3];
  return args;
}

/** X(id, ArgsType) for every op, in the order of their numbers. */
#define VD_FOR_EACH_OP(X) \
  X(attention, AttentionArgs) \
  X(attention_backward, AttentionBackwardArgs) \
  X(attention_f8, AttentionF8Args) \
  X(attention_f8_codes, AttentionF8CodesArgs) \
  X(attention_q8, AttentionQ8Args) \
  X(batch_norm, BatchNormArgs) \
  X(conv, ConvArgs) \
  X(conv_q8, ConvQ8Args) \
  X(conv_q8_codes, ConvQ8CodesArgs) \
  X(conv_winograd, ConvWinogradArgs) \
  X(copy, CopyArgs) \
  X(denoise_input, DenoiseInputArgs) \
  X(depth_to_space, DepthToSpaceArgs) \
  X(elementwise, ElementwiseArgs) \
  X(frames_out, FramesOutArgs) \
  X(group_norm, GroupNormArgs) \
  X(group_norm_conv, GroupNormConvArgs) \
  X(group_norm_conv_q8, GroupNormConvQ8Args) \
  X(group_norm_q8, GroupNormQ8Args) \
  X(group_norm_stats, GroupNormStatsArgs) \
  X(guide, GuideArgs) \
  X(layer_norm, LayerNormArgs) \
  X(layer_norm_linear, LayerNormLinearArgs) \
  X(layer_norm_linear_q8, LayerNormLinearQ8Args) \
  X(layer_norm_linear_q8_codes, LayerNormLinearQ8CodesArgs) \
  X(layer_norm_q8, LayerNormQ8Args) \
  X(layout_in, LayoutInArgs) \
  X(layout_out, LayoutOutArgs) \
  X(linear, LinearArgs) \
  X(linear_q8, LinearQ8Args) \
  X(linear_q8_codes, LinearQ8CodesArgs) \
  X(pointwise, PointwiseArgs) \
  X(pool, PoolArgs) \
  X(quantize, QuantizeArgs) \
  X(resize, ResizeArgs) \
  X(rms_norm, RmsNormArgs) \
  X(sampler_step, SamplerStepArgs) \
  X(space_to_depth, SpaceToDepthArgs) \
  X(timestep_embedding, TimestepEmbeddingArgs) \
  X(token_embed, TokenEmbedArgs)

}  // namespace vd
