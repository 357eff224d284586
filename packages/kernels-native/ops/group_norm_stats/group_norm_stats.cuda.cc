#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/norm_stats.h"

namespace vd {

cuda::Candidates group_norm_stats_cuda_variants(const GroupNormStatsArgs& a, const cuda::DeviceInfo&,
                                                const cuda::PlanningOptions& options) {
  using namespace device;
  cuda::Candidates out(options);
  const bool vector = out.allows({"vector"}, cuda::norm_vector_reason(a.x, a.x2));
  if (vector) out.reject({"scalar"}, cuda::kScalarReason);
  cuda::Variant variant;
  variant.name = vector ? "vector" : "scalar";
  const NormSource source = cuda::norm_source(a.x, a.x2);
  NormFinishParams finish{};
  finish.stats = a.stats.as<float>();
  finish.statsPitch = a.stats.pitch;
  finish.groups = static_cast<int32_t>(a.groups);
  finish.framesPerRow = a.joinFrames ? static_cast<int32_t>(a.x.dim(1)) : 1;
  finish.eps = a.eps;
  variant.workspaceBytes = cuda::add_partial_launch(variant, "group_norm_stats", source, vector, 0, finish);
  cuda::Launch second = cuda::finish_launch("group_norm_stats", source, finish);
  second.relocations.push_back({offsetof(NormFinishParams, partial), cuda::Address::workspace(0)});
  variant.launches.push_back(std::move(second));
  out.add(std::move(variant));
  return out;
}

}  // namespace vd
