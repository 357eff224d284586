#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/attention_f8.h"

namespace vd {

cuda::Candidates attention_f8_codes_cuda_variants(const AttentionF8CodesArgs& a, const cuda::DeviceInfo& device,
                                                  const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  cuda::add_attention_f8({a.q, a.k, a.v, a.qScale, a.kScale, a.vScale, a.yScale.as<const float>(), a.y, a.axis, a.heads, a.scale}, device,
                         out);
  return out;
}

}  // namespace vd
