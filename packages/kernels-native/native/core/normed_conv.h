// Convolutions with borders of zeros that normalise their source first, conv_winograd, group_norm_conv and group_norm_conv_q8, as the two
// ops that each stands for.
#pragma once
#include <algorithm>

#include "../generated/op_args.h"

namespace vd {

/** The normalised channels of a call, packed at `data`. */
template <class Args> Tensor normed_map(const Args& a, void* data, DType dtype) {
  Tensor map = a.x;
  map.data = data;
  map.dtype = dtype;
  map.dims[4] = map.pitch = a.weight.dims[1];
  map.constant = false;
  return map;
}

/** The norm before the convolution, with its result in `y`. The call has statistics. */
template <class Args> GroupNormArgs as_group_norm(const Args& a, const Tensor& y) {
  GroupNormArgs norm{};
  norm.x = a.x;
  if constexpr (requires { a.x2; }) norm.x2 = a.x2;
  norm.weight = a.normWeight;
  norm.bias = a.normBias;
  norm.stats = a.stats;
  norm.y = y;
  norm.groups = a.stats.dims[2];
  norm.act = a.normAct;
  norm.joinFrames = a.stats.dims[1] == 1 && a.x.dims[1] > 1;
  return norm;
}

/** The norm before a convolution of codes, with those in `y`. The call has statistics. */
template <class Args> GroupNormQ8Args as_group_norm_q8(const Args& a, const Tensor& y) {
  const GroupNormArgs norm = as_group_norm(a, y);
  return {norm.x, norm.x2, norm.weight, norm.bias, norm.stats, a.normScale, norm.y, norm.groups, norm.eps, norm.act, norm.joinFrames};
}

/** What convolutions of `x` have in common, ConvArgs or ConvQ8Args. */
template <class Conv, class Args> Conv as_bordered_conv(const Args& a, const Tensor& x) {
  Conv conv{};
  conv.x = x;
  conv.weight = a.weight;
  conv.bias = a.bias;
  conv.frameBias = a.frameBias;
  conv.residual = a.residual;
  conv.residual2 = a.residual2;
  conv.y = a.y;
  if constexpr (requires { a.moments; }) conv.moments = a.moments;
  for (int64_t& step : conv.stride) step = 1;
  if constexpr (requires { a.temporalPadding; }) std::copy_n(a.temporalPadding, 2, conv.padding);
  for (int side = 2; side < 6; ++side) conv.padding[side] = a.weight.dims[2 + side / 2] / 2;  // a frame's results are as large as it
  conv.act = a.act;
  conv.outScale = a.outScale;
  conv.residualScale = a.residualScale;
  conv.residual2Scale = a.residual2Scale;
  return conv;
}

/** The convolution of codes `x`. */
template <class Args> ConvQ8Args as_conv_q8(const Args& a, const Tensor& x) {
  auto conv = as_bordered_conv<ConvQ8Args>(a, x);
  conv.xScale = a.normScale;
  conv.weightScale = a.weightScale;
  return conv;
}

/** The convolution of `x`. */
template <class Args> ConvArgs as_conv(const Args& a, const Tensor& x) {
  auto conv = as_bordered_conv<ConvArgs>(a, x);
  conv.groups = 1;
  conv.framePadding = FramePadding::zeros;
  return conv;
}

}  // namespace vd
