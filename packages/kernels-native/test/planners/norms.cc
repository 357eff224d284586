// Rows of norms.
#include "rows.h"

namespace vd::planners {
namespace {

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

}  // namespace

void print_norms(const cuda::DeviceInfo& device) {
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
  print_token_norms(device);
}

}  // namespace vd::planners
