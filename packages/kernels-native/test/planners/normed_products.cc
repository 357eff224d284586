// Rows of products behind a norm that is part of them.
#include "rows.h"

namespace vd::planners {
namespace {

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

}  // namespace

void print_normed_products(const cuda::DeviceInfo& device) {
  print_group_norm_conv(device);
  print_rounded(device);
  print_layer_norm_linear(device);
}

}  // namespace vd::planners
