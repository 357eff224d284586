// Prints what planners find for rows on an architecture, one variant a line: row, tab, name, tab, and for a variant that the row
// cannot have the reason. candidates SM_VERSION. Built by planners.test.ts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "../../native/generated/op_planners.h"

using namespace vd;

namespace {

constexpr cuda::PlanningOptions kExplain{.explain = true};
constexpr cuda::PlanningOptions kInvariant{.explain = true, .batchInvariant = true};

/** A tensor at an aligned address, with nothing behind it. */
Tensor tensor(std::initializer_list<int64_t> dims, DType type = DType::f32) {
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

LinearArgs linear(int64_t tokens, int64_t channels, int64_t columns, DType weightType, DType type = DType::f32) {
  LinearArgs a{};
  a.x = tensor({1, 1, tokens, channels}, type);
  a.weight = tensor({columns, channels}, weightType);
  a.y = tensor({1, 1, tokens, columns}, type);
  a.outScale = 1;
  return a;
}

ConvArgs conv(int64_t size, int64_t channels, int64_t columns, DType weightType, DType type = DType::f32) {
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
GroupNormConvArgs group_norm_conv(int64_t height, int64_t channels, int64_t columns, DType type) {
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
GroupNormConvArgs group_norm_conv_over_frames(int64_t height, int64_t channels, int64_t columns) {
  GroupNormConvArgs a = group_norm_conv(height, channels, columns, DType::f16);
  a.weight = tensor({columns, channels, 3, 1, 1}, DType::f16);
  a.stats = tensor({1, 1, 32, 2});
  return a;
}

/** The same in float8. */
GroupNormConvQ8Args group_norm_conv_q8(const GroupNormConvArgs& full) {
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
LayerNormLinearArgs layer_norm_linear(int64_t tokens, int64_t channels, int64_t columns, DType type) {
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

LinearQ8Args linear_q8(int64_t tokens, int64_t channels, int64_t columns, DType type, int64_t blocks = 1) {
  LinearQ8Args a{};
  a.x = tensor({1, 1, tokens, channels}, type);
  a.xScale = tensor({1, 1, tokens, blocks});
  a.weight = tensor({columns, channels}, type);
  a.weightScale = tensor({columns, blocks});
  a.y = tensor({1, 1, tokens, columns}, DType::f16);
  a.outScale = 1;
  return a;
}

LinearQ8CodesArgs linear_q8_codes(int64_t tokens, int64_t channels, int64_t columns, DType type) {
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

ConvQ8Args conv_q8(int64_t size, int64_t channels, int64_t columns, DType type) {
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
ConvQ8Args transposed_conv_q8(const int64_t (&x)[4], int64_t columns, DType type) {
  ConvQ8Args a = conv_q8(1, x[3], columns, type);
  a.x = tensor({1, x[0], x[1], x[2], x[3]}, type);
  a.weight = tensor({x[3], columns, 1, 4, 4}, type);
  a.y = tensor({1, x[0], 2 * x[1], 2 * x[2], columns}, DType::f16);
  a.stride[1] = a.stride[2] = 2;
  a.transposed = true;
  return a;
}

/** The same that leaves codes of its operands' type. */
ConvQ8CodesArgs transposed_conv_q8_codes(const int64_t (&x)[4], int64_t columns, DType type) {
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

QuantizeArgs quantize(int64_t tokens, int64_t channels, DType type) {
  QuantizeArgs a{};
  a.x = tensor({1, 2, tokens, channels}, type);
  a.y = tensor({1, 2, tokens, channels}, DType::f8e4m3);
  a.scales = tensor({1, 1, 1, 1});
  a.per = ScalesPer::tensor;
  return a;
}

/** conv in groups: filters of `channels` to as many in each. */
ConvArgs grouped_conv(int64_t size, int64_t groups, int64_t channels, DType type) {
  ConvArgs a = conv(size, groups * channels, groups * channels, type, type);
  a.weight = tensor({groups * channels, channels, 1, 3, 3}, type);
  a.groups = groups;
  return a;
}

/** conv of four frames behind two past ones. */
ConvArgs clip_conv(int64_t size, int64_t channels, DType type) {
  ConvArgs a = conv(size, channels, channels, type, type);
  a.x = a.y = tensor({1, 4, size, size, channels}, type);
  a.past = tensor({1, 2, size, size, channels}, type);
  a.weight = tensor({channels, channels, 3, 3, 3}, type);
  return a;
}

/** conv that doubles height and width. */
ConvArgs transposed_conv(int64_t size, int64_t channels, int64_t columns, DType type) {
  ConvArgs a = conv(size, channels, columns, type, type);
  a.weight = tensor({channels, columns, 1, 4, 4}, type);
  a.y = tensor({1, 1, 2 * size, 2 * size, columns}, type);
  a.stride[1] = a.stride[2] = 2;
  a.transposed = true;
  return a;
}

AttentionArgs attention(int64_t tokens, int64_t dim, DType type = DType::f32) {
  AttentionArgs a{};
  a.q = a.k = a.v = a.y = tensor({1, 1, tokens, dim}, type);
  a.heads = 1;
  a.scale = 1;
  return a;
}

AttentionBackwardArgs attention_backward(int64_t tokens, int64_t dim, DType type) {
  AttentionBackwardArgs a{};
  a.q = a.k = a.v = a.y = a.dy = a.dq = a.dk = a.dv = tensor({1, 1, tokens, dim}, type);
  a.lse = a.delta = tensor({1, 1, 1, tokens});
  a.heads = 1;
  a.scale = 1;
  return a;
}

GroupNormArgs group_norm(int64_t frames, int64_t channels, int64_t size = 8) {
  GroupNormArgs a{};
  a.x = a.y = tensor({1, frames, size, size, channels}, DType::f16);
  a.weight = a.bias = tensor({channels}, DType::f16);
  a.groups = channels % 32 == 0 ? 32 : 1;
  return a;
}

void print(const char* name, const cuda::Candidates& found) {
  for (const cuda::Variant& variant : found.variants) std::printf("%s\t%s\t\n", name, variant.name.c_str());
  for (const RejectedVariant& variant : found.rejected()) std::printf("%s\t%s\t%s\n", name, variant.name.c_str(), variant.reason.c_str());
}

void print_float32(const cuda::DeviceInfo& device) {
  const auto print_linear = [&](const char* name, const LinearArgs& args) { print(name, linear_cuda_variants(args, device, kExplain)); };
  const auto print_conv = [&](const char* name, const ConvArgs& args) { print(name, conv_cuda_variants(args, device, kExplain)); };
  print_linear("linear f32", linear(9216, 512, 1536, DType::f32));
  print_linear("linear f16", linear(9216, 512, 1536, DType::f16));
  print_linear("linear bf16", linear(9216, 512, 1536, DType::bf16));
  LinearArgs frames = linear(9216, 512, 512, DType::f16);
  for (Tensor* t : {&frames.x, &frames.y}) {
    t->dims[1] = 72;
    t->dims[2] = 128;
  }
  print_linear("linear of few tokens a frame", frames);
  print_linear("linear few tokens", linear(64, 512, 1536, DType::f32));
  print_linear("linear odd", linear(64, 511, 16, DType::f16));
  LinearArgs gated = linear(64, 512, 38, DType::f32);
  gated.act = Activation::geglu;
  gated.y = tensor({1, 1, 64, 19});
  print_linear("linear geglu of 38", gated);
  print_conv("conv f16", conv(144, 512, 512, DType::f16));
  print_conv("conv 4 channels", conv(144, 4, 128, DType::f32));
  print_conv("conv 3 channels", conv(144, 3, 128, DType::f32));
  for (const int64_t dim : {40, 80, 160, 512})
    print(("attention d" + std::to_string(dim)).c_str(), attention_cuda_variants(attention(100, dim), device, kExplain));
  print("attention 25 tokens", attention_cuda_variants(attention(25, 64), device, kExplain));
}

void print_8_bits(const cuda::DeviceInfo& device) {
  print("quantize", quantize_cuda_variants(quantize(256, 768, DType::f16), device, kExplain));
  print("quantize a large tensor", quantize_cuda_variants(quantize(4096, 192, DType::f16), device, kExplain));
  print("quantize 4 channels", quantize_cuda_variants(quantize(256, 4, DType::f32), device, kExplain));
  QuantizeArgs rows = quantize(256, 768, DType::f16);
  rows.per = ScalesPer::row;
  rows.scales = tensor({1, 2, 256, 1});
  print("quantize rows", quantize_cuda_variants(rows, device, kExplain));
  for (const DType type : {DType::f8e4m3, DType::i8}) {
    const std::string name = type == DType::i8 ? "int8 " : "float8 ";
    for (const int64_t size : {8, 512}) {
      const ConvQ8Args small = conv_q8(size, 1280, 1280, type);
      print((name + "conv of 1280 by " + std::to_string(size)).c_str(), conv_q8_cuda_variants(small, device, kExplain));
      print((name + "invariant conv of 1280 by " + std::to_string(size)).c_str(), conv_q8_cuda_variants(small, device, kInvariant));
    }
    print((name + "conv of 128 to 128").c_str(), conv_q8_cuda_variants(conv_q8(256, 128, 128, type), device, kExplain));
    ConvQ8Args measured = conv_q8(256, 512, 512, type);
    measured.moments = tensor({1, 1, 512, 2});
    print((name + "measured conv").c_str(), conv_q8_cuda_variants(measured, device, kExplain));
    print((name + "invariant measured conv").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    measured = conv_q8(256, 128, 128, type);
    measured.moments = tensor({1, 1, 128, 2});
    print((name + "invariant measured conv of 128").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    measured.weight = tensor({128, 128, 3, 1, 1}, type);
    measured.padding[0] = measured.padding[1] = 1;
    for (int i = 2; i < 6; ++i) measured.padding[i] = 0;
    print((name + "invariant measured conv over frames").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    measured = conv_q8(256, 320, 320, type);
    measured.moments = tensor({1, 1, 320, 2});
    print((name + "invariant measured conv of 320").c_str(), conv_q8_cuda_variants(measured, device, kInvariant));
    // SVD's decoder, whose largest upsampling convolution has frames of 288 by 512.
    ConvQ8Args doubling = transposed_conv_q8({25, 288, 512, 256}, 256, type);
    print((name + "doubling conv").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    doubling.moments = tensor({1, 25, 256, 2});
    print((name + "measured doubling conv").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    print((name + "invariant measured doubling conv").c_str(), conv_q8_cuda_variants(doubling, device, kInvariant));
    doubling.residual = doubling.y;
    print((name + "doubling conv with a residual").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    print((name + "doubling conv to codes").c_str(),
          conv_q8_codes_cuda_variants(transposed_conv_q8_codes({25, 288, 512, 256}, 256, type), device, kExplain));
    doubling = transposed_conv_q8({2, 9, 11, 320}, 320, type);
    doubling.moments = tensor({1, 2, 320, 2});
    print((name + "doubling conv of 320").c_str(), conv_q8_cuda_variants(doubling, device, kExplain));
    print((name + "linear of 77 tokens").c_str(), linear_q8_cuda_variants(linear_q8(77, 5120, 1280, type), device, kExplain));
    LinearQ8Args framed = linear_q8(576, 5120, 1280, type);
    for (Tensor* t : {&framed.x, &framed.y}) {
      t->dims[1] = 576 / 64;
      t->dims[2] = 64;
    }
    framed.xScale = tensor({1, 1, 1, 1});
    framed.frameBias = tensor({1, 576 / 64, 1280}, DType::f16);
    print((name + "linear with a bias for each 64 rows").c_str(), linear_q8_cuda_variants(framed, device, kExplain));
    print((name + "linear in blocks").c_str(), linear_q8_cuda_variants(linear_q8(77, 5120, 1280, type, 40), device, kExplain));
    print((name + "linear of one block").c_str(), linear_q8_cuda_variants(linear_q8(77, 128, 1280, type), device, kExplain));
    LinearQ8Args gated = linear_q8(77, 5120, 2560, type);
    gated.act = Activation::geglu;
    gated.y = tensor({1, 1, 77, 1280}, DType::f16);
    print((name + "linear geglu").c_str(), linear_q8_cuda_variants(gated, device, kExplain));
    for (const int64_t channels : {1280, 1408})
      print((name + "linear of " + std::to_string(channels)).c_str(),
            linear_q8_cuda_variants(linear_q8(28800, channels, 1280, type), device, kExplain));
    LinearQ8CodesArgs codes = linear_q8_codes(28800, 1280, 10240, type);
    print((name + "codes").c_str(), linear_q8_codes_cuda_variants(codes, device, kExplain));
    codes.y = tensor({1, 1, 28800, 5120}, type == DType::i8 ? DType::f8e4m3 : DType::i8);
    print((name + "codes of the other type").c_str(), linear_q8_codes_cuda_variants(codes, device, kExplain));
    LinearQ8CodesArgs ragged = linear_q8_codes(190, 256, 400, type);
    ragged.y.pitch = 208;
    print((name + "codes of 200 columns").c_str(), linear_q8_codes_cuda_variants(ragged, device, kExplain));
    print((name + "codes of 1408").c_str(), linear_q8_codes_cuda_variants(linear_q8_codes(28800, 1408, 10240, type), device, kExplain));
  }
}

void print_float16(const cuda::DeviceInfo& device) {
  const DType f16 = DType::f16;
  LinearArgs biased = linear(9216, 320, 320, f16, f16);
  biased.bias = tensor({320}, f16);
  biased.bias.data = reinterpret_cast<void*>(uintptr_t{4098});
  print("half linear", linear_cuda_variants(linear(9216, 320, 320, f16, f16), device, kExplain));
  print("half linear unaligned bias", linear_cuda_variants(biased, device, kExplain));
  print("half linear bf16", linear_cuda_variants(linear(9216, 512, 512, DType::bf16, DType::bf16), device, kExplain));
  print("half conv", conv_cuda_variants(conv(64, 320, 320, f16, f16), device, kExplain));
  ConvArgs far = conv(64, 320, 320, f16, f16);
  far.stride[1] = far.stride[2] = 9;
  for (const int64_t size : {8, 64, 512}) {
    const ConvArgs small = conv(size, 1280, 1280, f16, f16);
    print(("half conv of 1280 by " + std::to_string(size)).c_str(), conv_cuda_variants(small, device, kExplain));
    print(("invariant conv of 1280 by " + std::to_string(size)).c_str(), conv_cuda_variants(small, device, kInvariant));
  }
  ConvArgs measured = conv(256, 320, 320, f16, f16);
  measured.moments = tensor({1, 1, 320, 2});
  print("measured conv", conv_cuda_variants(measured, device, kExplain));
  print("invariant measured conv", conv_cuda_variants(measured, device, kInvariant));
  measured = conv(256, 512, 512, f16, f16);
  measured.moments = tensor({1, 1, 512, 2});
  print("invariant measured conv of 512", conv_cuda_variants(measured, device, kInvariant));
  measured.weight = tensor({512, 512, 3, 1, 1}, f16);
  measured.padding[0] = measured.padding[1] = 1;
  for (int i = 2; i < 6; ++i) measured.padding[i] = 0;
  print("invariant measured conv over frames", conv_cuda_variants(measured, device, kInvariant));
  measured = conv(256, 512, 512, f16, f16);
  measured.upsample = true;
  measured.y = tensor({1, 1, 512, 512, 512}, f16);
  print("doubling conv of 512", conv_cuda_variants(measured, device, kExplain));
  for (int i = 2; i < 4; ++i) measured.y.dims[i] = 2 * (measured.x.dims[i] = 251);
  print("doubling conv of odd rows", conv_cuda_variants(measured, device, kExplain));
  measured = conv(8, 320, 320, f16, f16);
  measured.x = measured.y = tensor({1, 2, 8, 8, 320}, f16);
  measured.weight = tensor({320, 320, 1, 1, 1}, f16);
  for (int i = 2; i < 6; ++i) measured.padding[i] = 0;
  measured.moments = tensor({1, 2, 320, 2});
  print("measured conv of two frames a tile", conv_cuda_variants(measured, device, kInvariant));
  measured = conv(27, 320, 320, f16, f16);
  measured.moments = tensor({1, 1, 320, 2});
  print("measured conv of odd size", conv_cuda_variants(measured, device, kInvariant));
  print("half linear of 77 tokens", linear_cuda_variants(linear(77, 5120, 1280, f16, f16), device, kExplain));
  const auto clip = linear(257, 1280, 3840, f16, f16);
  print("half linear of 257 tokens", linear_cuda_variants(clip, device, kExplain));
  print("invariant half linear of 257 tokens", linear_cuda_variants(clip, device, kInvariant));
  print("half linear of 256 tokens", linear_cuda_variants(linear(256, 1280, 5120, f16, f16), device, kExplain));
  print("half linear of 353 tokens", linear_cuda_variants(linear(353, 1280, 5120, f16, f16), device, kExplain));
  print("half linear of 7168 tokens", linear_cuda_variants(linear(7168, 256, 64, f16, f16), device, kExplain));
  print("half linear of 960 tokens", linear_cuda_variants(linear(960, 1280, 1280, f16, f16), device, kExplain));
  print("invariant half linear of 960 tokens", linear_cuda_variants(linear(960, 1280, 1280, f16, f16), device, kInvariant));
  LinearArgs turnedGated = clip;
  turnedGated.act = Activation::geglu;
  turnedGated.y = tensor({1, 1, 257, 1920}, f16);
  print("half linear of 257 tokens, geglu", linear_cuda_variants(turnedGated, device, kExplain));
  print("half conv far", conv_cuda_variants(far, device, kExplain));
  print("half conv narrow", conv_cuda_variants(conv(64, 320, 4, f16, f16), device, kExplain));
  print("half conv few", conv_cuda_variants(conv(64, 3, 3, f16, f16), device, kExplain));
  ConvArgs behind = conv(64, 320, 4, f16, f16);
  behind.y.dims[1] = 2;
  behind.padding[1] = 1;
  print("half conv narrow padded behind", conv_cuda_variants(behind, device, kExplain));
  print("half conv 2 groups", conv_cuda_variants(grouped_conv(64, 2, 64, f16), device, kExplain));
  print("half conv 64 groups", conv_cuda_variants(grouped_conv(64, 64, 4, f16), device, kExplain));
  print("half conv depthwise", conv_cuda_variants(grouped_conv(64, 320, 1, f16), device, kExplain));
  print("half conv of 64 to 64", conv_cuda_variants(conv(512, 64, 64, f16, f16), device, kExplain));
  print("half conv of 4 to 320", conv_cuda_variants(conv(64, 4, 320, f16, f16), device, kExplain));
  print("half conv of 8 to 320", conv_cuda_variants(conv(64, 8, 320, f16, f16), device, kExplain));
  print("half conv of 8 to 320, small", conv_cuda_variants(conv(8, 8, 320, f16, f16), device, kExplain));
  print("half conv depthwise of 48", conv_cuda_variants(grouped_conv(64, 48, 1, f16), device, kExplain));
  print("half conv groups of 8", conv_cuda_variants(grouped_conv(64, 16, 8, f16), device, kExplain));
  print("half conv groups of 16", conv_cuda_variants(grouped_conv(64, 16, 16, f16), device, kExplain));
  print("half conv groups of 32", conv_cuda_variants(grouped_conv(64, 8, 32, f16), device, kExplain));
  print("bfloat conv groups of 32", conv_cuda_variants(grouped_conv(64, 8, 32, DType::bf16), device, kExplain));
  print("half conv clip", conv_cuda_variants(clip_conv(64, 320, f16), device, kExplain));
  print("half conv clip of 3", conv_cuda_variants(clip_conv(64, 3, f16), device, kExplain));
  ConvArgs mixed = clip_conv(64, 320, f16);
  mixed.past.dtype = DType::f32;
  print("half conv clip of two types", conv_cuda_variants(mixed, device, kExplain));
  print("half conv transposed", conv_cuda_variants(transposed_conv(64, 320, 160, f16), device, kExplain));
  print("half attention d40", attention_cuda_variants(attention(100, 40, f16), device, kExplain));
  print("half attention d64", attention_cuda_variants(attention(100, 64, f16), device, kExplain));
  print("half attention d512", attention_cuda_variants(attention(100, 512, f16), device, kExplain));
}

void print_group_norm_conv(const cuda::DeviceInfo& device) {
  const auto row = [&](const char* name, const GroupNormConvArgs& a, const cuda::PlanningOptions& options = kExplain) {
    print(name, group_norm_conv_cuda_variants(a, device, options));
  };
  row("half norm and conv", group_norm_conv(64, 256, 256, DType::f16));
  row("half norm and conv, invariant", group_norm_conv(64, 256, 256, DType::f16), kInvariant);
  row("half norm and conv of 128, invariant", group_norm_conv(64, 256, 128, DType::f16), kInvariant);
  row("half norm and conv that tiles do not cover, invariant", group_norm_conv(72, 256, 256, DType::f16), kInvariant);
  row("norm and conv", group_norm_conv(64, 256, 256, DType::f32));
  row("half norm and conv over frames", group_norm_conv_over_frames(64, 128, 128));
  row("half norm and conv over frames, invariant", group_norm_conv_over_frames(64, 128, 128), kInvariant);
  row("half norm and conv over frames of 192 channels", group_norm_conv_over_frames(64, 192, 128));
  row("half norm and conv over frames of 192 filters", group_norm_conv_over_frames(64, 128, 192));
  GroupNormConvArgs activated = group_norm_conv(64, 256, 256, DType::f16);
  activated.act = Activation::silu;
  row("half norm and activated conv", activated);
}

void print_rounded(const cuda::DeviceInfo& device) {
  const auto conv = [&](const char* name, const GroupNormConvArgs& a, const cuda::PlanningOptions& options = kExplain) {
    print(name, group_norm_conv_q8_cuda_variants(group_norm_conv_q8(a), device, options));
  };
  conv("float8 norm and conv over frames", group_norm_conv_over_frames(64, 128, 128));
  conv("float8 norm and conv over frames, invariant", group_norm_conv_over_frames(64, 128, 128), kInvariant);
  conv("float8 norm and conv over frames of 192 channels", group_norm_conv_over_frames(64, 192, 128));
  conv("float8 norm and conv", group_norm_conv(64, 256, 256, DType::f16));
  const auto linear = [&](const char* name, int64_t channels, const cuda::PlanningOptions& options = kExplain) {
    print(name, layer_norm_linear_q8_cuda_variants(layer_norm_linear_q8<LayerNormLinearQ8Args>(9216, channels, 960, 960), device, options));
  };
  linear("float8 norm and linear", 320);
  linear("float8 norm and linear, invariant", 320, kInvariant);
  linear("float8 norm and linear of 640", 640);
  const auto codes = [&](const char* name, int64_t scales) {
    const auto a = layer_norm_linear_q8<LayerNormLinearQ8CodesArgs>(9216, 320, 2560, scales);
    print(name, layer_norm_linear_q8_codes_cuda_variants(a, device, kExplain));
  };
  codes("float8 norm and gated linear", 1);
  codes("float8 norm and gated linear, scales of rows", 2560);
}

/** What a variant's launches hand on through the workspace's beginning: for each its symbol, and how many of its addresses that is; then
 *  the workspace's bytes. */
void print_handed_on(const char* name, const cuda::Variant& variant) {
  for (const cuda::Launch& launch : variant.launches) {
    int count = 0;
    const auto is_beginning = [](const cuda::Address& at) { return at.base == cuda::AddressBase::workspace && at.value == 0; };
    for (const cuda::Relocation& relocation : launch.relocations) count += is_beginning(relocation.address);
    for (const cuda::TensorMapRequest& map : launch.maps) count += is_beginning(map.base);
    std::printf("%s\t%s: %d\t\n", name, launch.symbol.c_str(), count);
  }
  std::printf("%s\t%zu bytes\t\n", name, variant.workspaceBytes);
}

void print_layer_norm_linear(const cuda::DeviceInfo& device) {
  const auto row = [&](const char* name, const LayerNormLinearArgs& a, const cuda::PlanningOptions& options = kExplain) {
    print(name, layer_norm_linear_cuda_variants(a, device, options));
  };
  const auto apart = [](cuda::Candidates found) {
    const auto isApart = [](const cuda::Variant& variant) { return variant.name.starts_with("apart_"); };
    return *std::find_if(found.variants.begin(), found.variants.end(), isApart);
  };
  const LayerNormLinearArgs half = layer_norm_linear(9216, 320, 960, DType::f16);
  row("half norm and linear", half);
  print_handed_on("half norm and linear, handed on", apart(layer_norm_linear_cuda_variants(half, device, kExplain)));
  const LayerNormLinearArgs wide = layer_norm_linear(100, 2048, 64, DType::f32);
  row("norm and linear", wide);
  print_handed_on("norm and linear, handed on", apart(layer_norm_linear_cuda_variants(wide, device, kExplain)));
  print("linear behind the norm", linear_cuda_variants(linear(100, 2048, 64, DType::f32), device, kExplain));
  const LayerNormLinearArgs few = layer_norm_linear(257, 1280, 1280, DType::f16);
  print_handed_on("norm of few and linear, handed on", apart(layer_norm_linear_cuda_variants(few, device, kExplain)));
  print_handed_on("norm of few and linear, invariant, handed on", apart(layer_norm_linear_cuda_variants(few, device, kInvariant)));
  LayerNormLinearArgs bare = half;
  bare.normWeight = bare.normBias = Tensor{};
  print_handed_on("bare norm and linear, handed on", apart(layer_norm_linear_cuda_variants(bare, device, kExplain)));
}

void print_attention(const cuda::DeviceInfo& device) {
  AttentionArgs frames = attention(512, 256, DType::f16);
  frames.q = frames.k = frames.v = frames.y = tensor({1, 2, 512, 256}, DType::f16);
  frames.heads = 16;
  frames.axis = AttentionAxis::time;
  print("half attention over two frames", attention_cuda_variants(frames, device, kExplain));
  AttentionArgs fewTokens = attention(64, 768, DType::f16);
  fewTokens.heads = 16;
  print("half attention of 64 tokens", attention_cuda_variants(fewTokens, device, kExplain));
  // Channels of a head, keys.
  for (const auto& [dim, keys] : {std::pair<int64_t, int64_t>{40, 77},
                                  {40, 4096},
                                  {80, 77},
                                  {80, 4096},
                                  {80, 2048},
                                  {96, 4096},
                                  {128, 512},
                                  {128, 1024},
                                  {128, 4096},
                                  {160, 77},
                                  {160, 4096}}) {
    AttentionArgs cross = attention(4096, 16 * dim, DType::f16);
    cross.heads = 16;
    cross.k = cross.v = tensor({1, 1, keys, 16 * dim}, DType::f16);
    const std::string name = "half attention d" + std::to_string(dim) + " to " + std::to_string(keys);
    print(name.c_str(), attention_cuda_variants(cross, device, kExplain));
    if (keys == 77) print(("invariant " + name).c_str(), attention_cuda_variants(cross, device, kInvariant));
  }
  AttentionArgs fewTiles = attention(1024, 5 * 64, DType::f16);
  fewTiles.heads = 5;
  print("half attention of 80 tiles", attention_cuda_variants(fewTiles, device, kExplain));
  print("invariant half attention of 80 tiles", attention_cuda_variants(fewTiles, device, kInvariant));
  AttentionArgs moreTiles = attention(1024, 8 * 64, DType::f16);
  moreTiles.heads = 8;
  print("half attention of 128 tiles", attention_cuda_variants(moreTiles, device, kExplain));
  AttentionArgs shorter = attention(512, 16 * 40, DType::f16);
  shorter.heads = 16;
  print("half attention d40 of 512", attention_cuda_variants(shorter, device, kExplain));
  AttentionArgs longer = attention(4800, 8 * 40, DType::f16);
  longer.heads = 8;
  print("half attention d40 of 4800", attention_cuda_variants(longer, device, kExplain));
  const auto forward = [&](const char* name, const AttentionArgs& args) { print(name, attention_cuda_variants(args, device, kExplain)); };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const std::string name = " of " + std::string(kDTypeNames[static_cast<int>(type)]);
    AttentionArgs local = attention(100, 40, type);
    local.window[0] = 9;
    local.grid[0] = local.grid[1] = 1;
    forward(("window" + name).c_str(), local);
    print(("gradients" + name).c_str(), attention_backward_cuda_variants(attention_backward(100, 40, type), device, kExplain));
  }
  AttentionArgs causal = attention(100, 128, DType::f16);
  causal.causal = true;
  forward("causal attention", causal);
  AttentionArgs box = attention(100, 64, DType::bf16);
  box.window[1] = box.window[2] = 3;
  box.grid[0] = box.grid[1] = 10;
  forward("boxes of attention", box);
  AttentionArgs causalLarge = attention(100, 512, DType::f16);
  causalLarge.causal = true;
  forward("causal attention d512", causalLarge);
  AttentionArgs mixed = attention(100, 64, DType::f16);
  mixed.k.dtype = DType::f32;
  forward("attention of two types", mixed);
  AttentionArgs large = attention(100, 64, DType::f16);
  large.q.dims[2] = large.y.dims[2] = int64_t{1} << 32;
  forward("attention of many rows", large);
  AttentionBackwardArgs other = attention_backward(100, 64, DType::f16);
  other.dq.dtype = DType::bf16;
  print("gradients of two types", attention_backward_cuda_variants(other, device, kExplain));
  print("gradients d160", attention_backward_cuda_variants(attention_backward(100, 160, DType::f16), device, kExplain));
}

/** Attention over codes side by side, as one layer leaves those of queries, keys and values. */
AttentionF8Args attention_f8(AttentionAxis axis, int64_t frames, int64_t tokens, int64_t heads, int64_t dim) {
  AttentionF8Args a{};
  a.q = tensor({2, frames, tokens, heads * dim}, DType::f8e4m3);
  a.q.pitch = 3 * heads * dim;
  a.k = a.v = a.q;
  a.y = tensor({2, frames, tokens, heads * dim}, DType::f16);
  a.qScale = a.kScale = a.vScale = tensor({1, 1, 1, 1});
  a.axis = axis;
  a.heads = heads;
  a.scale = 0.125f;
  return a;
}

void print_attention_f8(const cuda::DeviceInfo& device) {
  const auto row = [&](const char* name, const AttentionF8Args& a) { print(name, attention_f8_cuda_variants(a, device, kExplain)); };
  using enum AttentionAxis;
  row("float8 attention over tokens", attention_f8(space, 25, 9216, 5, 64));
  row("float8 attention over tokens d40", attention_f8(space, 25, 9216, 8, 40));
  row("float8 attention over 25 frames", attention_f8(time, 25, 9216, 5, 64));
  row("float8 attention over 14 frames", attention_f8(time, 14, 9216, 5, 64));
  row("float8 attention over 40 frames", attention_f8(time, 40, 9216, 5, 64));
  AttentionF8Args odd = attention_f8(space, 25, 9216, 5, 64);
  odd.q.pitch += 8;
  row("float8 attention of odd rows", odd);
}

/** Launches for gradients by some of the operands: of the first variant, with its workspace. */
void print_gradients(const char* name, const AttentionBackwardArgs& a, const cuda::DeviceInfo& device) {
  const cuda::Variant variant = attention_backward_cuda_variants(a, device, {}).variants.front();
  std::string line = std::to_string(variant.workspaceBytes);
  for (const cuda::Launch& launch : variant.launches) line += " " + launch.symbol;
  std::printf("%s\t%s\t\n", name, line.c_str());
}

/** Launches of attention whose heads are changed first: names, workspace, and what the second one reads q and k from. */
void print_staged(const cuda::DeviceInfo& device) {
  AttentionArgs a = attention(100, 64, DType::f16);
  a.normQ = tensor({64}, DType::f16);
  a.rotaryQ = a.rotaryK = tensor({100, 64});
  for (const cuda::Variant& variant : attention_cuda_variants(a, device, {}).variants) {
    std::string line = variant.name + " " + std::to_string(variant.workspaceBytes);
    for (const cuda::Launch& launch : variant.launches) {
      line += ", " + launch.symbol;
      for (const cuda::Relocation& r : launch.relocations)
        if (r.address.base == cuda::AddressBase::workspace) line += " +" + std::to_string(r.address.value);
      for (const cuda::TensorMapRequest& map : launch.maps)
        if (map.base.base == cuda::AddressBase::workspace) line += " map+" + std::to_string(map.base.value);
    }
    std::printf("staged\t%s\t\n", line.c_str());
  }
}

void print_others(const cuda::DeviceInfo& device) {
  print("group_norm", group_norm_cuda_variants(group_norm(2, 320), device, kExplain));
  print("group_norm of a large row", group_norm_cuda_variants(group_norm(2, 320, 512), device, kExplain));
  print("group_norm of many rows", group_norm_cuda_variants(group_norm(50, 320, 32), device, kExplain));
  print("invariant group_norm", group_norm_cuda_variants(group_norm(2, 320), device, kInvariant));
  print("group_norm of groups of two", group_norm_cuda_variants(group_norm(2, 64), device, kExplain));
  print("group_norm odd", group_norm_cuda_variants(group_norm(2, 321), device, kExplain));
  GroupNormStatsArgs stats{};
  stats.x = tensor({1, 2, 8, 8, 321}, DType::f16);
  stats.stats = tensor({1, 2, 1, 2});
  stats.groups = 1;
  print("group_norm_stats odd", group_norm_stats_cuda_variants(stats, device, kExplain));
  LayerNormArgs norm{};
  norm.x = norm.y = tensor({1, 1, 100, 640}, DType::f16);
  norm.weight = norm.bias = tensor({640}, DType::f16);
  print("layer_norm", layer_norm_cuda_variants(norm, device, kExplain));
  PointwiseArgs sum{};
  sum.a = sum.b = sum.y = tensor({1, 1, 4, 4, 5}, DType::f16);
  print("pointwise odd", pointwise_cuda_variants(sum, device, kExplain));
  CopyArgs copy{};
  copy.x = copy.y = tensor({1, 1, 4, 8}, DType::f16);
  copy.y.pitch = 12;
  print("copy gaps", copy_cuda_variants(copy, device, kExplain));
  ResizeArgs resize{};
  resize.x = resize.y = tensor({1, 1, 4, 4, 8}, DType::f16);
  print("resize", resize_cuda_variants(resize, device, kExplain));
  TokenEmbedArgs embed{};
  embed.x = embed.y = embed.position = tensor({1, 1, 4, 8}, DType::f16);
  embed.token.data = reinterpret_cast<void*>(uintptr_t{4098});
  print("token_embed", token_embed_cuda_variants(embed, device, kExplain));
  SamplerStepArgs step{};
  step.prediction = step.x = step.next = tensor({1, 25, 72, 128, 4});
  step.coefficients = tensor({2, 3});
  print("sampler_step", sampler_step_cuda_variants(step, device, kExplain));
  step.bounds = StepBounds::clip;
  print("sampler_step clipped", sampler_step_cuda_variants(step, device, kExplain));
  step.bounds = StepBounds::threshold;
  for (const int64_t height : {int64_t{72}, int64_t{1}}) {
    step.x.dims[2] = height;
    const cuda::Variant variant = sampler_step_cuda_variants(step, device, {}).variants.front();
    const cuda::Launch& launch = variant.launches.front();
    std::printf("sampler_step of %d lines\t%s %d %zu%s\t\n", static_cast<int>(height), launch.symbol.c_str(), launch.grid[0],
                variant.workspaceBytes, launch.allResident ? " resident" : "");
  }
  FramesOutArgs frames{};
  frames.x = tensor({1, 1, 3, 3, 3}, DType::f16);
  frames.y = tensor({1, 1, 3, 3, 3}, DType::u8);
  print("frames_out", frames_out_cuda_variants(frames, device, kExplain));
}

ElementwiseArgs elementwise(std::initializer_list<Instruction> code, int64_t channels, DType other = DType::f16) {
  ElementwiseArgs a{};
  a.a = a.y = tensor({1, 2, 100, channels}, DType::f16);
  a.b = tensor({1, 2, 1, channels}, other);
  a.c = tensor({1, 2, 100, channels}, DType::f16);
  std::copy(code.begin(), code.end(), a.code);
  return a;
}

void print_elementwise(const cuda::DeviceInfo& device) {
  using enum Instruction;
  const auto print_program = [&](const char* name, const ElementwiseArgs& a) {
    print(name, elementwise_cuda_variants(a, device, kExplain));
  };
  print_program("gated residual", elementwise({a, b, c, mul, add}, 640));
  print_program("gated residual, other names", elementwise({c, b, a, mul, add}, 640));
  print_program("gated residual odd", elementwise({a, b, c, mul, add}, 641));
  print_program("gated residual mixed", elementwise({a, b, c, mul, add}, 640, DType::f32));
  print_program("seldom expression", elementwise({a, b, c, div, add, exp}, 640));
  print_program("seldom expression, few", elementwise({a, b, c, div, add, exp}, 64));
  cuda::DeviceInfo bare = device;
  bare.hasTemplates = false;
  print("seldom expression without text", elementwise_cuda_variants(elementwise({a, b, c, div, add, exp}, 640), bare, kExplain));
}

LayerNormArgs with_weights(LayerNormArgs a, DType type) {
  a.weight = a.bias = tensor({a.x.channels()}, type);
  return a;
}

void print_token_norms(const cuda::DeviceInfo& device) {
  LayerNormArgs norm{};
  norm.x = norm.y = tensor({1, 2, 100, 640}, DType::f16);
  print("layer_norm bare", layer_norm_cuda_variants(norm, device, kExplain));
  norm.weight = norm.bias = tensor({640}, DType::f16);
  LayerNormArgs few = norm;
  few.x = few.y = tensor({1, 1, 257, 1280}, DType::f16);
  few.weight = few.bias = tensor({1280}, DType::f16);
  print("layer_norm few", layer_norm_cuda_variants(few, device, kExplain));
  print("layer_norm few, other weights", layer_norm_cuda_variants(with_weights(few, DType::bf16), device, kExplain));
  print("layer_norm few, float32 weights", layer_norm_cuda_variants(with_weights(few, DType::f32), device, kExplain));
  few.x = few.y = tensor({1, 1, 8193, 1280}, DType::f16);
  print("layer_norm of many rows", layer_norm_cuda_variants(few, device, kExplain));
  LayerNormQ8Args codes{};
  for (const int64_t rows : {3199, 3200}) {  // of two frames: four for each warp of two blocks on each multiprocessor
    codes.x = tensor({1, 2, rows, 1280}, DType::f16);
    codes.y = tensor({1, 2, rows, 1280}, DType::f8e4m3);
    const std::string name = "layer_norm_q8 of " + std::to_string(2 * rows) + " rows";
    print(name.c_str(), layer_norm_q8_cuda_variants(codes, device, kExplain));
  }
  codes.shift = tensor({1, 2, 1, 1280}, DType::f16);
  print("layer_norm_q8 shifted", layer_norm_q8_cuda_variants(codes, device, kExplain));
  norm.scale = tensor({1, 2, 1, 640}, DType::f32);
  norm.scale.pitch = 644;
  print("layer_norm scale on gaps", layer_norm_cuda_variants(norm, device, kExplain));
  RmsNormArgs rms{};
  rms.x = rms.y = tensor({1, 1, 100, 3072}, DType::bf16);
  print("rms_norm", rms_norm_cuda_variants(rms, device, kExplain));
}

/** What is left of variants that need the given MiB. */
void print_limited(const char* name, std::initializer_list<size_t> mebibytes) {
  cuda::Candidates candidates(kExplain);
  for (const size_t size : mebibytes) candidates.add({"needs_" + std::to_string(size), size << 20, {}, {}});
  candidates.limit_workspace();
  print(name, candidates);
}

}  // namespace

int main(int argc, char** argv) {
  cuda::DeviceInfo device;
  device.smVersion = argc > 1 ? std::atoi(argv[1]) : 80;
  device.hasWgmma = device.smVersion == 90;
  device.numSms = 100;
  device.hasTemplates = true;
  device.sharedBytesPerBlock = device.hasWgmma ? 232448 : 101376;  // of others the least of the architectures from sm_80 on
  print_float32(device);
  print_float16(device);
  print_8_bits(device);
  print_attention(device);
  print_attention_f8(device);
  print_rounded(device);
  print_group_norm_conv(device);
  print_layer_norm_linear(device);
  print_staged(device);
  AttentionBackwardArgs gradients = attention_backward(100, 64, DType::f16);
  gradients.dq = gradients.dk = Tensor{};
  print_gradients("gradients by v", gradients, device);
  gradients.dv = Tensor{};
  print_gradients("gradients by nothing", gradients, device);
  print_others(device);
  print_elementwise(device);
  print_token_norms(device);
  print_limited("limited", {312, 100, 400});
  print_limited("limited alone", {312, 400});
  const cuda::Candidates silent = conv_cuda_variants(conv(64, 320, 320, DType::f16, DType::f16), device, {});
  std::printf("silent\t%zu\t\n", silent.rejected().size());
}
