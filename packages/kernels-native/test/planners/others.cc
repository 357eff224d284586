// Rows of expressions and of small ops, and what is left where memory is short.
#include "rows.h"

namespace vd::planners {
namespace {

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

void print_small(const cuda::DeviceInfo& device) {
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

/** What is left of variants that need the given MiB. */
void print_limited(const char* name, std::initializer_list<size_t> mebibytes) {
  cuda::Candidates candidates(kExplain);
  for (const size_t size : mebibytes) candidates.add({"needs_" + std::to_string(size), size << 20, {}, {}});
  candidates.limit_workspace();
  print(name, candidates);
}

}  // namespace

void print_others(const cuda::DeviceInfo& device) {
  print_small(device);
  print_elementwise(device);
  print_limited("limited", {312, 100, 400});
  print_limited("limited alone", {312, 400});
}

}  // namespace vd::planners
