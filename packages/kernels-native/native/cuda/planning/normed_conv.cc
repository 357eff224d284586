#include "normed_conv.h"

#include <cstring>

#include "group_norm.h"

namespace vd::cuda {

void move_to_workspace(Launch& launch, const void* from, uint64_t offset) {
  const auto wanted = reinterpret_cast<uint64_t>(from);
  for (TensorMapRequest& map : launch.maps)
    if (map.base.base == AddressBase::absolute && map.base.value == wanted) map.base = Address::workspace(offset);
  for (size_t at = 0; at + sizeof(uint64_t) <= launch.params.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, launch.params.data() + at, sizeof(word));
    if (word == wanted) launch.relocations.push_back({static_cast<uint32_t>(at), Address::workspace(offset)});
  }
}

void shift_workspace(Variant& variant, uint64_t bytes) {
  for (Launch& launch : variant.launches) {
    for (Relocation& relocation : launch.relocations)
      if (relocation.address.base == AddressBase::workspace) relocation.address.value += bytes;
    for (TensorMapRequest& map : launch.maps)
      if (map.base.base == AddressBase::workspace) map.base.value += bytes;
  }
  variant.workspaceBytes += bytes;
}

Variant norm_into_workspace(const GroupNormArgs& norm, const DeviceInfo& device) {
  const Tensor absent;
  const uint64_t bytes = round_up(static_cast<uint64_t>(norm.y.count()) * bytes_of(norm.y.dtype), 256);
  Candidates norms(PlanningOptions{.batchInvariant = true});
  add_group_norm({norm.x, norm.x2, norm.weight, norm.bias, norm.stats, absent, norm.y, norm.groups, norm.eps, norm.act, norm.joinFrames},
                 "group_norm", device, norms);
  Variant variant = std::move(norms.variants[0]);
  shift_workspace(variant, bytes);
  for (Launch& launch : variant.launches) move_to_workspace(launch, norm.y.data, 0);
  return variant;
}

}  // namespace vd::cuda
