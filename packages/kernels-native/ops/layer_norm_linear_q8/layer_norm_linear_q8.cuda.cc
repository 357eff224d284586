#include "../../native/cuda/planning/normed_linear_q8.h"
#include "../../native/generated/op_planners.h"

namespace vd {

cuda::Candidates layer_norm_linear_q8_cuda_variants(const LayerNormLinearQ8Args& a, const cuda::DeviceInfo& device,
                                                    const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const auto* yScale = static_cast<const float*>(nullptr);
  cuda::add_rounded_rows(a, yScale, "layer_norm_linear_q8_sm90_", device, out);
  // The others add up in other orders.
  if (!out.variants.empty() && !out.allows({"apart_*"}, out.variance_reason())) return out;
  const Tensor codes = normed_tokens(a, cuda::place_in_workspace(0), a.weight.dtype);
  cuda::add_behind_norm(layer_norm_q8_cuda_variants(as_layer_norm_q8(a, codes), device, options), codes,
                        linear_q8_cuda_variants(as_linear_q8(a, codes), device, options).variants, out);
  return out;
}

}  // namespace vd
