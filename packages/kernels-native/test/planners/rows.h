// Rows that planners are asked about, and how what they find is printed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <string>

#include "../../native/generated/op_planners.h"

namespace vd::planners {

inline constexpr cuda::PlanningOptions kExplain{.explain = true};
inline constexpr cuda::PlanningOptions kInvariant{.explain = true, .batchInvariant = true};

/** A tensor at an aligned address, with nothing behind it. */
inline Tensor tensor(std::initializer_list<int64_t> dims, DType type = DType::f32) {
  Tensor t;
  t.data = reinterpret_cast<void*>(uintptr_t{4096});
  t.dtype = type;
  t.rank = static_cast<int>(dims.size());
  int i = 0;
  for (const int64_t size : dims) t.dims[i++] = size;
  t.pitch = t.channels();
  t.constant = true;
  return t;
}

inline LinearArgs linear(int64_t tokens, int64_t channels, int64_t columns, DType weightType, DType type = DType::f32) {
  LinearArgs a{};
  a.x = tensor({1, 1, tokens, channels}, type);
  a.weight = tensor({columns, channels}, weightType);
  a.y = tensor({1, 1, tokens, columns}, type);
  a.outScale = 1;
  return a;
}

inline ConvArgs conv(int64_t size, int64_t channels, int64_t columns, DType weightType, DType type = DType::f32) {
  ConvArgs a{};
  a.x = tensor({1, 1, size, size, channels}, type);
  a.weight = tensor({columns, channels, 1, 3, 3}, weightType);
  a.y = tensor({1, 1, size, size, columns}, type);
  for (int i = 0; i < 3; ++i) a.stride[i] = 1;
  for (int i = 2; i < 6; ++i) a.padding[i] = 1;
  a.outScale = 1;
  a.groups = 1;
  return a;
}

/** A convolution behind a norm of 32 groups with a result that is measured. */
inline GroupNormConvArgs group_norm_conv(int64_t height, int64_t channels, int64_t columns, DType type) {
  GroupNormConvArgs a{};
  a.x = tensor({1, 2, height, 128, channels}, type);
  a.weight = tensor({columns, channels, 1, 3, 3}, type);
  a.stats = tensor({1, 2, 32, 2});
  a.normWeight = a.normBias = tensor({channels}, type);
  a.y = tensor({1, 2, height, 128, columns}, type);
  a.moments = tensor({1, 2, columns, 2});
  a.normAct = Activation::silu;
  a.outScale = 1;
  return a;
}

/** The same with filters over frames, and statistics of all of them. */
inline GroupNormConvArgs group_norm_conv_over_frames(int64_t height, int64_t channels, int64_t columns) {
  GroupNormConvArgs a = group_norm_conv(height, channels, columns, DType::f16);
  a.weight = tensor({columns, channels, 3, 1, 1}, DType::f16);
  a.stats = tensor({1, 1, 32, 2});
  return a;
}

/** The same in float8. */
inline GroupNormConvQ8Args group_norm_conv_q8(const GroupNormConvArgs& full) {
  GroupNormConvQ8Args a{};
  a.x = full.x;
  a.normScale = tensor({1, 1, 1, 1});
  a.weight = full.weight;
  a.weight.dtype = DType::f8e4m3;
  a.weightScale = tensor({full.weight.dim(0), 1});
  a.stats = full.stats;
  a.normWeight = full.normWeight;
  a.normBias = full.normBias;
  a.y = full.y;
  a.moments = full.moments;
  a.normAct = full.normAct;
  a.outScale = 1;
  return a;
}

/** A linear layer behind a norm. */
inline LayerNormLinearArgs layer_norm_linear(int64_t tokens, int64_t channels, int64_t columns, DType type) {
  LayerNormLinearArgs a{};
  a.x = tensor({1, 1, tokens, channels}, type);
  a.weight = tensor({columns, channels}, type);
  a.normWeight = a.normBias = tensor({channels}, type);
  a.y = tensor({1, 1, tokens, columns}, type);
  a.outScale = 1;
  a.eps = 1e-5F;
  return a;
}

/** The same in float8, its result floats or codes. */
template <class Args> Args layer_norm_linear_q8(int64_t tokens, int64_t channels, int64_t columns, int64_t scales) {
  const LayerNormLinearArgs full = layer_norm_linear(tokens, channels, columns, DType::f16);
  Args a{};
  a.x = full.x;
  a.normScale = tensor({1, 1, 1, 1});
  a.weight = tensor({columns, channels}, DType::f8e4m3);
  a.weightScale = tensor({scales, 1});
  a.normWeight = a.normBias = full.normWeight;
  a.y = full.y;
  a.outScale = 1;
  a.eps = full.eps;
  if constexpr (requires { a.yScale; }) {
    a.yScale = tensor({1, 1, 1, 1});
    a.y = tensor({1, 1, tokens, columns / 2}, DType::f8e4m3);
    a.act = Activation::geglu;
  }
  return a;
}

inline LinearQ8Args linear_q8(int64_t tokens, int64_t channels, int64_t columns, DType type, int64_t blocks = 1) {
  LinearQ8Args a{};
  a.x = tensor({1, 1, tokens, channels}, type);
  a.xScale = tensor({1, 1, tokens, blocks});
  a.weight = tensor({columns, channels}, type);
  a.weightScale = tensor({columns, blocks});
  a.y = tensor({1, 1, tokens, columns}, DType::f16);
  a.outScale = 1;
  return a;
}

inline LinearQ8CodesArgs linear_q8_codes(int64_t tokens, int64_t channels, int64_t columns, DType type) {
  const LinearQ8Args plain = linear_q8(tokens, channels, columns, type);
  LinearQ8CodesArgs a{};
  a.x = plain.x;
  a.xScale = plain.xScale;
  a.weight = plain.weight;
  a.weightScale = plain.weightScale;
  a.yScale = tensor({1, 1, 1, 1});
  a.y = tensor({1, 1, tokens, columns / 2}, type);
  a.act = Activation::geglu;
  a.outScale = 1;
  return a;
}

inline ConvQ8Args conv_q8(int64_t size, int64_t channels, int64_t columns, DType type) {
  ConvQ8Args a{};
  a.x = tensor({1, 1, size, size, channels}, type);
  a.xScale = tensor({1, 1, 1, 1});
  a.weight = tensor({columns, channels, 1, 3, 3}, type);
  a.weightScale = tensor({columns, 1});
  a.y = tensor({1, 1, size, size, columns}, DType::f16);
  for (int i = 0; i < 3; ++i) a.stride[i] = 1;
  for (int i = 2; i < 6; ++i) a.padding[i] = 1;
  a.outScale = 1;
  return a;
}

/** conv_q8 that doubles height and width of `frames` frames, [1, frames, height, width, channels]. */
inline ConvQ8Args transposed_conv_q8(const int64_t (&x)[4], int64_t columns, DType type) {
  ConvQ8Args a = conv_q8(1, x[3], columns, type);
  a.x = tensor({1, x[0], x[1], x[2], x[3]}, type);
  a.weight = tensor({x[3], columns, 1, 4, 4}, type);
  a.y = tensor({1, x[0], 2 * x[1], 2 * x[2], columns}, DType::f16);
  a.stride[1] = a.stride[2] = 2;
  a.transposed = true;
  return a;
}

/** The same that leaves codes of its operands' type. */
inline ConvQ8CodesArgs transposed_conv_q8_codes(const int64_t (&x)[4], int64_t columns, DType type) {
  const ConvQ8Args plain = transposed_conv_q8(x, columns, type);
  ConvQ8CodesArgs a{};
  a.x = plain.x;
  a.xScale = plain.xScale;
  a.weight = plain.weight;
  a.weightScale = plain.weightScale;
  a.yScale = tensor({1, 1, 1, 1});
  a.y = tensor({1, x[0], 2 * x[1], 2 * x[2], columns}, type);
  std::copy(std::begin(plain.stride), std::end(plain.stride), a.stride);
  std::copy(std::begin(plain.padding), std::end(plain.padding), a.padding);
  a.outScale = 1;
  a.transposed = true;
  return a;
}

inline QuantizeArgs quantize(int64_t tokens, int64_t channels, DType type) {
  QuantizeArgs a{};
  a.x = tensor({1, 2, tokens, channels}, type);
  a.y = tensor({1, 2, tokens, channels}, DType::f8e4m3);
  a.scales = tensor({1, 1, 1, 1});
  a.per = ScalesPer::tensor;
  return a;
}

/** conv in groups: filters of `channels` to as many in each. */
inline ConvArgs grouped_conv(int64_t size, int64_t groups, int64_t channels, DType type) {
  ConvArgs a = conv(size, groups * channels, groups * channels, type, type);
  a.weight = tensor({groups * channels, channels, 1, 3, 3}, type);
  a.groups = groups;
  return a;
}

/** conv of four frames behind two past ones. */
inline ConvArgs clip_conv(int64_t size, int64_t channels, DType type) {
  ConvArgs a = conv(size, channels, channels, type, type);
  a.x = a.y = tensor({1, 4, size, size, channels}, type);
  a.past = tensor({1, 2, size, size, channels}, type);
  a.weight = tensor({channels, channels, 3, 3, 3}, type);
  return a;
}

/** conv that doubles height and width. */
inline ConvArgs transposed_conv(int64_t size, int64_t channels, int64_t columns, DType type) {
  ConvArgs a = conv(size, channels, columns, type, type);
  a.weight = tensor({channels, columns, 1, 4, 4}, type);
  a.y = tensor({1, 1, 2 * size, 2 * size, columns}, type);
  a.stride[1] = a.stride[2] = 2;
  a.transposed = true;
  return a;
}

inline AttentionArgs attention(int64_t tokens, int64_t dim, DType type = DType::f32) {
  AttentionArgs a{};
  a.q = a.k = a.v = a.y = tensor({1, 1, tokens, dim}, type);
  a.heads = 1;
  a.scale = 1;
  return a;
}

inline AttentionBackwardArgs attention_backward(int64_t tokens, int64_t dim, DType type) {
  AttentionBackwardArgs a{};
  a.q = a.k = a.v = a.y = a.dy = a.dq = a.dk = a.dv = tensor({1, 1, tokens, dim}, type);
  a.lse = a.delta = tensor({1, 1, 1, tokens});
  a.heads = 1;
  a.scale = 1;
  return a;
}

inline GroupNormArgs group_norm(int64_t frames, int64_t channels, int64_t size = 8) {
  GroupNormArgs a{};
  a.x = a.y = tensor({1, frames, size, size, channels}, DType::f16);
  a.weight = a.bias = tensor({channels}, DType::f16);
  a.groups = channels % 32 == 0 ? 32 : 1;
  return a;
}

inline void print(const char* name, const cuda::Candidates& found) {
  for (const cuda::Variant& variant : found.variants) std::printf("%s\t%s\t\n", name, variant.name.c_str());
  for (const RejectedVariant& variant : found.rejected()) std::printf("%s\t%s\t%s\n", name, variant.name.c_str(), variant.reason.c_str());
}

// Each prints the rows of a subject.
void print_products(const cuda::DeviceInfo& device);
void print_products_in_8_bits(const cuda::DeviceInfo& device);
void print_normed_products(const cuda::DeviceInfo& device);
void print_attention(const cuda::DeviceInfo& device);
void print_norms(const cuda::DeviceInfo& device);
void print_others(const cuda::DeviceInfo& device);

}  // namespace vd::planners
