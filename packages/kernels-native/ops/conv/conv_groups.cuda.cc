// Plans convolutions of several groups.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/packs.h"
#include "conv_groups.h"
#include "conv_groups_params.h"
#include "conv_plans.h"

namespace vd {

namespace {

using namespace device;

/** Most launches of a row, and least channels of a group with which tensor cores are worth one: a guess. */
constexpr int64_t kMostGroupLaunches = 32, kLeastGroupChannels = 16;

/** A kernel's name, the output channels that a thread takes, and its threads. */
struct GroupsKernel {
  std::string symbol;
  int64_t channels, threads = 256;
};

cuda::Variant groups_variant(const ConvArgs& a, ConvGroupsParams p, const GroupsKernel& kernel) {
  constexpr int64_t kMostBlocks = 1 << 20;
  p.items = a.y.dim(0) * a.y.dim(1) * a.y.dim(2) * cuda::ceil_div(a.y.dim(3), kGroupPixels) * (p.conv.columns / kernel.channels);
  const int64_t blocks = std::min(cuda::ceil_div(p.items, kernel.threads), kMostBlocks);
  return conv_groups_variant(a, p, conv_groups_pack(a), kernel.symbol, kernel.threads, blocks);
}

/** Why the kernel for depthwise rows cannot do the row. */
cuda::Reason depthwise_reason(const ConvArgs& a) {
  const bool depthwise = a.groups == a.x.channels() && a.groups == a.y.channels();
  return cuda::first_of({cuda::if_so(!depthwise, {"is for a filter for every channel"}), cuda::access_reason(a.x, "x", 8, true),
                         cuda::access_reason(a.past, "past", 8, true)});
}

/** Why the kernel for groups of multiples of four channels cannot do the row. */
cuda::Reason fours_reason(const ConvArgs& a) {
  const int64_t channels = a.x.channels() / a.groups, columns = a.y.channels() / a.groups;
  return cuda::first_of({cuda::if_so(channels % 4 != 0 || columns % 4 != 0, {"is for groups of multiples of four channels"}),
                         cuda::if_so(a.y.channels() % 8 != 0, {"is for multiples of eight output channels"}),
                         cuda::access_reason(a.x, "x", 4, true), cuda::access_reason(a.past, "past", 4, true)});
}

/** Why the groups cannot be rows of their own. */
cuda::Reason launches_reason(const ConvArgs& a) {
  const int64_t channels = a.x.channels() / a.groups;
  return cuda::first_of(
      {cuda::if_so(a.groups > kMostGroupLaunches, {"is for at most # groups, there are #", {kMostGroupLaunches, a.groups}}),
       cuda::if_so(channels < kLeastGroupChannels,
                   {"is for groups of at least # channels, they have #", {kLeastGroupChannels, channels}})});
}

/** Adds the kernels of dense rows, one group after the other. */
void add_group_launches(const ConvArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options, cuda::Candidates& out) {
  cuda::Candidates all = dense_conv_variants(group_of(a, 0), device, options);
  for (int64_t i = 1; i < a.groups; ++i) cuda::join_launches(all, dense_conv_variants(group_of(a, i), device, options));
  for (cuda::Variant& variant : all.variants) out.add(std::move(variant));
}

}  // namespace

ConvGroupsParams conv_groups_params(const ConvArgs& a) {
  ConvGroupsParams p{};
  set_geometry(p.conv, a);
  p.conv.x = a.x.data;
  p.conv.pitch = a.x.pitch;
  p.conv.epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  p.groupChannels = static_cast<int32_t>(a.x.channels() / a.groups);
  p.groupColumns = static_cast<int32_t>(a.y.channels() / a.groups);
  return p;
}

PackParams conv_groups_pack(const ConvArgs& a) {
  PackParams pack{};
  pack.kind = PackKind::convGroups;
  pack.rows = static_cast<int32_t>(a.weight.dim(0));
  pack.channels = pack.paddedChannels = static_cast<int32_t>(a.weight.dim(1));
  pack.taps = static_cast<int32_t>(a.weight.count() / (a.weight.dim(0) * a.weight.dim(1)));
  pack.count = a.weight.count();
  pack.targetType = static_cast<int32_t>(DType::f32);
  return pack;
}

cuda::Variant conv_groups_variant(const ConvArgs& a, const ConvGroupsParams& p, const PackParams& pack, const std::string& symbol,
                                  int64_t threads, int64_t blocks) {
  cuda::Variant variant;
  const cuda::Address weights = cuda::Address::packed(cuda::add_pack(variant, a.weight, "conv_pack", pack));
  cuda::Launch launch;
  launch.symbol = variant.name = symbol;
  launch.block = static_cast<uint32_t>(threads);
  launch.grid[0] = static_cast<uint32_t>(blocks);
  launch.set_params(p);
  launch.relocations.push_back({offsetof(ConvGroupsParams, conv) + offsetof(MatmulMmaParams, weights), weights});
  variant.launches.push_back(std::move(launch));
  return variant;
}

void give_float_bias(const ConvArgs& a, cuda::Variant& variant) {
  const cuda::BiasSource bias = cuda::float_bias(variant, a.bias, "conv_pack");
  if (!bias.present) return;
  constexpr size_t kEpilogue = offsetof(ConvGroupsParams, conv) + offsetof(MatmulMmaParams, epilogue);
  variant.launches.back().relocations.push_back({kEpilogue + offsetof(Epilogue, bias), bias.address});
}

cuda::Candidates grouped_conv_variants(const ConvArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const std::string type = cuda::type_name(a.x.dtype), depthwise = "conv_depthwise_" + type, fours = "conv_groups4_" + type;
  const ConvGroupsParams params = conv_groups_params(a);
  add_conv_slide(a, device, out);
  if (out.allows({depthwise}, depthwise_reason(a))) out.add(groups_variant(a, params, {depthwise, 8}));
  add_conv_groups_mma(a, device, out);
  add_conv_sm90(a, device, out);
  if (out.allows({"dense_*"}, launches_reason(a))) add_group_launches(a, device, options, out);
  if (out.allows({fours}, fours_reason(a))) out.add(groups_variant(a, params, {fours, 8, 128}));
  out.add(groups_variant(a, params, {"conv_groups_" + type, 1}));
  return out;
}

}  // namespace vd
