#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/token_norm.h"

namespace vd {

cuda::Candidates layer_norm_q8_cuda_variants(const LayerNormQ8Args& a, const cuda::DeviceInfo& device,
                                             const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  cuda::add_token_norm({a.x, a.weight, a.bias, a.scale, a.shift, a.yScale, a.y, a.scales, a.eps}, "layer_norm_q8", device, out);
  return out;
}

}  // namespace vd
