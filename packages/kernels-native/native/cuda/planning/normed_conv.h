// Launches of convolutions that normalise their source first, where a norm puts it into the workspace.
#pragma once
#include <string>
#include <utility>

#include "../../core/normed_conv.h"
#include "../../generated/op_planners.h"
#include "candidates.h"

namespace vd::cuda {

/** Stands for the address of operand `i` that launches hand on through the workspace, before it is known: neither memory nor a stand-in
 *  for it. */
inline void* place_in_workspace(int64_t i) { return reinterpret_cast<void*>(0x6DB2'C300'0000'0000 + (i << 32)); }

/** Makes all that a launch reads and writes at `from` lie at `offset` of the workspace. */
void move_to_workspace(Launch& launch, const void* from, uint64_t offset);

/** Makes room in front of a variant's working memory. */
void shift_workspace(Variant& variant, uint64_t bytes);

/** The launches of a norm whose result stands for the workspace's beginning, with their working memory behind it. */
Variant norm_into_workspace(const GroupNormArgs& norm, const DeviceInfo& device);

/** Adds the kernels of conv behind those of group_norm. prefix: of the variants' names. */
template <class Args>
void add_norm_and_conv(const Args& a, const char* prefix, const DeviceInfo& device, const PlanningOptions& options, Candidates& out) {
  const Tensor x = normed_map(a, place_in_workspace(2), a.x.dtype);
  const Variant norm = norm_into_workspace(as_group_norm(a, x), device);
  for (Variant& variant : conv_cuda_variants(as_conv(a, x), device, options).variants) {
    variant.name = prefix + variant.name;
    shift_workspace(variant, norm.workspaceBytes);
    for (Launch& launch : variant.launches) move_to_workspace(launch, x.data, 0);
    variant.launches.insert(variant.launches.begin(), norm.launches.begin(), norm.launches.end());
    out.add(std::move(variant));
  }
}

}  // namespace vd::cuda
