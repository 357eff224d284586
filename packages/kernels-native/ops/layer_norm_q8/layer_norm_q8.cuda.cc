#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/token_norm.h"

namespace vd {

cuda::Candidates layer_norm_q8_cuda_variants(const LayerNormQ8Args& a, const cuda::DeviceInfo& device,
                                             const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const cuda::TokenNormOperands operands{a.x, a.weight, a.bias, a.scale, a.shift, a.yScale, a.y, a.scales, a.eps};
  const bool many = cuda::token_norm_has_many(operands, device);
  if (many) cuda::add_many_token_norm(operands, "layer_norm_q8", device, out);
  cuda::add_token_norm(operands, "layer_norm_q8", device, out);
  if (!many) cuda::add_many_token_norm(operands, "layer_norm_q8", device, out);
  return out;
}

}  // namespace vd
