// Rows of linear layers and convolutions.
#include "rows.h"

namespace vd::planners {
namespace {

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

}  // namespace

void print_products(const cuda::DeviceInfo& device) {
  print_float32(device);
  print_float16(device);
  const cuda::Candidates silent = conv_cuda_variants(conv(64, 320, 320, DType::f16, DType::f16), device, {});
  std::printf("silent\t%zu\t\n", silent.rejected().size());
}

}  // namespace vd::planners
