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

cuda::Address moved(cuda::Address address, const std::vector<int>& packs) {
  if (address.base == cuda::AddressBase::pack) address.pack = packs[static_cast<size_t>(address.pack)];
  return address;
}

cuda::Launch moved(cuda::Launch launch, const std::vector<int>& packs) {
  for (cuda::Relocation& relocation : launch.relocations) relocation.address = moved(relocation.address, packs);
  for (cuda::TensorMapRequest& map : launch.maps) map.base = moved(map.base, packs);
  return launch;
}

/** Notes where in `to` the next pack of `from` is, added if it is not there yet. */
void find_or_add(cuda::Variant& to, const cuda::Pack& pack, std::vector<int>& positions) {
  const auto same = [&](const cuda::Pack& other) {
    return other.source == pack.source && other.kind == pack.kind && other.targetType == pack.targetType && other.bytes == pack.bytes;
  };
  const auto found = std::find_if(to.packs.begin(), to.packs.end(), same);
  positions.push_back(static_cast<int>(found - to.packs.begin()));
  if (found != to.packs.end()) return;
  // Its launches write to itself alone.
  cuda::Pack added = pack;
  for (cuda::Launch& launch : added.launches) launch = moved(std::move(launch), positions);
  to.packs.push_back(std::move(added));
}

void append(cuda::Variant& to, const cuda::Variant& from) {
  std::vector<int> positions;
  for (const cuda::Pack& pack : from.packs) find_or_add(to, pack, positions);
  for (const cuda::Launch& launch : from.launches) to.launches.push_back(moved(launch, positions));
  to.workspaceBytes = std::max(to.workspaceBytes, from.workspaceBytes);
}

/** The row for the kernels of this file, without the number of items. */
ConvGroupsParams groups_params(const ConvArgs& a) {
  ConvGroupsParams p{};
  set_geometry(p.conv, a);
  p.conv.x = a.x.data;
  p.conv.pitch = a.x.pitch;
  p.conv.epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  p.groupChannels = static_cast<int32_t>(a.x.channels() / a.groups);
  p.groupColumns = static_cast<int32_t>(a.y.channels() / a.groups);
  return p;
}

/** A kernel's name, what its threads take (output channels, neighbouring pixels, rows), and the type of its weights. */
struct GroupsKernel {
  std::string symbol;
  int64_t channels, pixels = kGroupPixels, rows = 1, threads = 256;
  DType weights = DType::f32;
};

cuda::Variant groups_variant(const ConvArgs& a, ConvGroupsParams p, const GroupsKernel& kernel) {
  constexpr int64_t kMostBlocks = 1 << 20;
  PackParams pack{};
  pack.kind = PackKind::convGroups;
  pack.rows = p.conv.columns;
  pack.channels = pack.paddedChannels = p.groupChannels;
  pack.taps = static_cast<int32_t>(a.weight.count() / (a.weight.dim(0) * a.weight.dim(1)));
  pack.count = a.weight.count();
  pack.targetType = static_cast<int32_t>(kernel.weights);
  p.stripRows = static_cast<int32_t>(kernel.rows);
  p.items = a.y.dim(0) * a.y.dim(1) * cuda::ceil_div(a.y.dim(2), kernel.rows) * cuda::ceil_div(a.y.dim(3), kernel.pixels) *
            (p.conv.columns / kernel.channels);
  cuda::Variant variant;
  const cuda::Address weights = cuda::Address::packed(cuda::add_pack(variant, a.weight, "conv_pack", pack));
  cuda::Launch launch;
  launch.symbol = variant.name = kernel.symbol;
  launch.block = static_cast<uint32_t>(kernel.threads);
  launch.grid[0] = static_cast<uint32_t>(std::min(cuda::ceil_div(p.items, kernel.threads), kMostBlocks));
  launch.set_params(p);
  launch.relocations.push_back({offsetof(ConvGroupsParams, conv) + offsetof(MatmulMmaParams, weights), weights});
  variant.launches.push_back(std::move(launch));
  return variant;
}

/** Why the kernel for depthwise rows cannot do the row. */
cuda::Reason depthwise_reason(const ConvArgs& a) {
  const bool depthwise = a.groups == a.x.channels() && a.groups == a.y.channels();
  return cuda::first_of({cuda::if_so(!depthwise, {"is for a filter for every channel"}), cuda::access_reason(a.x, "x", 8, true),
                         cuda::access_reason(a.past, "past", 8, true)});
}

/** Why no kernel that slides down columns can do the row. */
cuda::Reason columns_reason(const ConvArgs& a) {
  const int64_t rows = a.weight.dim(3), columns = a.weight.dim(4);
  const bool filter = rows == columns && (rows == 3 || rows == 5), step = a.stride[1] == a.stride[2] && a.stride[1] <= 2;
  return cuda::first_of({depthwise_reason(a), cuda::if_so(!filter, {"is for filters of 3x3 and 5x5"}),
                         cuda::if_so(!step || a.upsample, {"has the same steps of 1 or 2 down and across, and no upsampling"})});
}

/** The kernel that slides down columns. More rows a thread are fewer rows read twice; a device needs threads, too. */
GroupsKernel columns_kernel(const ConvArgs& a, const cuda::DeviceInfo& device) {
  const std::string size = std::to_string(a.weight.dim(3));
  const bool held = a.weight.dim(2) == 1 && a.weight.dim(3) == 3 && a.stride[1] == 1;
  GroupsKernel kernel = {
      "conv_depthwise_" + size + "x" + size + "s" + std::to_string(a.stride[1]) + (held ? "_held_" : "_") + cuda::type_name(a.x.dtype),
      8,
      kColumnPixels,
      32,
      kColumnThreads,
      a.x.dtype};
  const int64_t across = a.y.dim(0) * a.y.dim(1) * cuda::ceil_div(a.y.dim(3), kColumnPixels) * (a.y.channels() / 8);
  const int64_t wanted = int64_t{2} * device.numSms * 2 * kColumnThreads;
  while (kernel.rows > 2 && across * cuda::ceil_div(a.y.dim(2), kernel.rows) < wanted) kernel.rows /= 2;
  return kernel;
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
  for (int64_t i = 1; i < a.groups; ++i) join_launches(all, dense_conv_variants(group_of(a, i), device, options));
  for (cuda::Variant& variant : all.variants) out.add(std::move(variant));
}

}  // namespace

void join_launches(cuda::Candidates& variants, const cuda::Candidates& more) {
  std::vector<cuda::Variant> joined;
  for (cuda::Variant& variant : variants.variants) {
    const auto named = [&](const cuda::Variant& other) { return other.name == variant.name; };
    const auto found = std::find_if(more.variants.begin(), more.variants.end(), named);
    if (found == more.variants.end()) continue;
    append(variant, *found);
    joined.push_back(std::move(variant));
  }
  variants.variants = std::move(joined);
}

cuda::Candidates grouped_conv_variants(const ConvArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const std::string type = cuda::type_name(a.x.dtype), depthwise = "conv_depthwise_" + type, fours = "conv_groups4_" + type;
  const ConvGroupsParams params = groups_params(a);
  if (out.allows({"conv_depthwise_NxNsS_*"}, columns_reason(a))) out.add(groups_variant(a, params, columns_kernel(a, device)));
  if (out.allows({depthwise}, depthwise_reason(a))) out.add(groups_variant(a, params, {depthwise, 8}));
  add_conv_sm90(a, device, out);
  if (out.allows({"dense_*"}, launches_reason(a))) add_group_launches(a, device, options, out);
  if (out.allows({fours}, fours_reason(a))) out.add(groups_variant(a, params, {fours, 8, kGroupPixels, 1, 128}));
  out.add(groups_variant(a, params, {"conv_groups_" + type, 1}));
  return out;
}

}  // namespace vd
