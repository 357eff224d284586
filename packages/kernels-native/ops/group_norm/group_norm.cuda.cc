#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/group_norm.h"

namespace vd {

cuda::Candidates group_norm_cuda_variants(const GroupNormArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const Tensor absent;
  cuda::add_group_norm({a.x, a.x2, a.weight, a.bias, a.stats, absent, a.y, a.groups, a.eps, a.act, a.joinFrames}, "group_norm", device,
                       out);
  return out;
}

}  // namespace vd
