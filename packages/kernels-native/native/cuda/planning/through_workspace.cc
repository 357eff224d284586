#include "through_workspace.h"

#include <cstring>
#include <utility>

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

Variant into_workspace(Variant variant, const Tensor& result) {
  shift_workspace(variant, round_up(static_cast<uint64_t>(result.count()) * bytes_of(result.dtype), 256));
  for (Launch& launch : variant.launches) move_to_workspace(launch, result.data, 0);
  return variant;
}

void add_behind(const Variant& first, const Tensor& between, std::vector<Variant> variants, const char* prefix, Candidates& out) {
  for (Variant& variant : variants) {
    variant.name = prefix + variant.name;
    shift_workspace(variant, first.workspaceBytes);
    for (Launch& launch : variant.launches) move_to_workspace(launch, between.data, 0);
    variant.launches.insert(variant.launches.begin(), first.launches.begin(), first.launches.end());
    out.add(std::move(variant));
  }
}

}  // namespace vd::cuda
