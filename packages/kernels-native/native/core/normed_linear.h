// Linear layers that normalise their tokens first, layer_norm_linear and its forms in 8 bits, as the two ops that each stands for.
#pragma once
#include "../generated/op_args.h"

namespace vd {

/** The normalised tokens of a call, packed at `data`. */
template <class Args> Tensor normed_tokens(const Args& a, void* data, DType dtype) {
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

/** The same with codes as its result. */
template <class Args> LayerNormQ8Args as_layer_norm_q8(const Args& a, const Tensor& y) {
  LayerNormQ8Args norm{};
  norm.x = a.x;
  norm.weight = a.normWeight;
  norm.bias = a.normBias;
  norm.yScale = a.normScale;
  norm.y = y;
  norm.eps = a.eps;
  return norm;
}

/** What products of `x` have in common. */
template <class Linear, class Args> Linear as_product(const Args& a, const Tensor& x) {
  Linear linear{};
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

/** The linear layer of `x`. */
inline LinearArgs as_linear(const LayerNormLinearArgs& a, const Tensor& x) { return as_product<LinearArgs>(a, x); }

/** The same of codes `x`. */
template <class Linear, class Args> Linear as_product_of_codes(const Args& a, const Tensor& x) {
  auto linear = as_product<Linear>(a, x);
  linear.xScale = a.normScale;
  linear.weightScale = a.weightScale;
  return linear;
}
inline LinearQ8Args as_linear_q8(const LayerNormLinearQ8Args& a, const Tensor& x) { return as_product_of_codes<LinearQ8Args>(a, x); }
inline LinearQ8CodesArgs as_linear_q8(const LayerNormLinearQ8CodesArgs& a, const Tensor& x) {
  auto linear = as_product_of_codes<LinearQ8CodesArgs>(a, x);
  linear.yScale = a.yScale;
  return linear;
}

}  // namespace vd
