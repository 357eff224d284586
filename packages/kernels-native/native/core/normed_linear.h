// Linear layers that normalise their tokens first, layer_norm_linear, as the two ops that each stands for.
#pragma once
#include "../generated/op_args.h"

namespace vd {

/** The normalised tokens of a call, packed at `data`. */
inline Tensor normed_tokens(const LayerNormLinearArgs& a, void* data, DType dtype) {
  Tensor tokens = a.x;
  tokens.data = data;
  tokens.dtype = dtype;
  tokens.pitch = a.x.channels();
  tokens.constant = false;
  return tokens;
}

/** The norm before the product, with its result in `y`. */
inline LayerNormArgs as_layer_norm(const LayerNormLinearArgs& a, const Tensor& y) {
  LayerNormArgs norm{};
  norm.x = a.x;
  norm.weight = a.normWeight;
  norm.bias = a.normBias;
  norm.y = y;
  norm.eps = a.eps;
  return norm;
}

/** The linear layer of `x`. */
inline LinearArgs as_linear(const LayerNormLinearArgs& a, const Tensor& x) {
  LinearArgs linear{};
  linear.x = x;
  linear.weight = a.weight;
  linear.bias = a.bias;
  linear.frameBias = a.frameBias;
  linear.residual = a.residual;
  linear.residual2 = a.residual2;
  linear.y = a.y;
  linear.act = a.act;
  linear.outScale = a.outScale;
  linear.residualScale = a.residualScale;
  linear.residual2Scale = a.residual2Scale;
  return linear;
}

}  // namespace vd
