// Launches of convolutions that normalise their source first, where a norm puts it into the workspace.
#pragma once
#include "../../core/normed_conv.h"
#include "../../generated/op_planners.h"
#include "through_workspace.h"

namespace vd::cuda {

/** The launches of a norm whose result stands for the workspace's beginning, with their working memory behind it. */
Variant norm_into_workspace(const GroupNormArgs& norm, const DeviceInfo& device);

/** Adds the kernels of conv behind those of group_norm. prefix: of the variants' names. */
template <class Args>
void add_norm_and_conv(const Args& a, const char* prefix, const DeviceInfo& device, const PlanningOptions& options, Candidates& out) {
  const Tensor x = normed_map(a, place_in_workspace(2), a.x.dtype);
  const Variant norm = norm_into_workspace(as_group_norm(a, x), device);
  add_behind(norm, x, conv_cuda_variants(as_conv(a, x), device, options).variants, prefix, out);
}

}  // namespace vd::cuda
