#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/token_norm.h"

namespace vd {

cuda::Candidates rms_norm_cuda_variants(const RmsNormArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const Tensor absent;
  cuda::add_token_norm({a.x, a.weight, absent, a.scale, a.shift, absent, a.y, absent, a.eps}, "rms_norm", device, out);
  return out;
}

}  // namespace vd
