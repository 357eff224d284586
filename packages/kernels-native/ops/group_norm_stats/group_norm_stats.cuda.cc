#include "../../native/generated/op_planners.h"

#include "../../device/norm_stats.h"

namespace vd {

std::vector<cuda::Plan> plan_group_norm_stats_cuda(const GroupNormStatsArgs& a, const cuda::DeviceInfo&) {
  using namespace vd::device;
  cuda::Plan plan;
  const bool vector = norm_vector(a.x, a.x2);
  plan.variant = vector ? "vector" : "scalar";
  const NormSource source = norm_source(a.x, a.x2);
  NormFinishParams finish{};
  finish.stats = a.stats.as<float>();
  finish.statsPitch = a.stats.pitch;
  finish.groups = static_cast<int32_t>(a.groups);
  finish.framesPerRow = a.joinFrames ? static_cast<int32_t>(a.x.dim(1)) : 1;
  finish.eps = a.eps;
  plan.workspaceBytes = add_partial_launch(plan, "group_norm_stats", source, vector, 0, finish);
  cuda::Launch second = finish_launch("group_norm_stats", source, finish);
  second.relocations.push_back({offsetof(NormFinishParams, partial), cuda::Address::workspace(0)});
  plan.launches.push_back(std::move(second));
  return {plan};
}

}  // namespace vd
