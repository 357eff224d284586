#include "normed_conv.h"

#include <utility>

#include "group_norm.h"

namespace vd::cuda {

Variant norm_into_workspace(const GroupNormArgs& norm, const DeviceInfo& device) {
  const Tensor absent;
  Candidates norms(PlanningOptions{.batchInvariant = true});
  add_group_norm({norm.x, norm.x2, norm.weight, norm.bias, norm.stats, absent, norm.y, norm.groups, norm.eps, norm.act, norm.joinFrames},
                 "group_norm", device, norms);
  return into_workspace(std::move(norms.variants[0]), norm.y);
}

Variant norm_into_workspace(const GroupNormQ8Args& norm, const DeviceInfo& device) {
  Candidates norms(PlanningOptions{.batchInvariant = true});
  add_group_norm(
      {norm.x, norm.x2, norm.weight, norm.bias, norm.stats, norm.yScale, norm.y, norm.groups, norm.eps, norm.act, norm.joinFrames},
      "group_norm_q8", device, norms);
  return into_workspace(std::move(norms.variants[0]), norm.y);
}

}  // namespace vd::cuda
