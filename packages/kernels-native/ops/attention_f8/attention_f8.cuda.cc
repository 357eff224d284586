#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/attention_f8.h"

namespace vd {

cuda::Candidates attention_f8_cuda_variants(const AttentionF8Args& a, const cuda::DeviceInfo& device,
                                            const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  cuda::add_attention_f8({a.q, a.k, a.v, a.qScale, a.kScale, a.vScale, nullptr, a.y, a.axis, a.heads, a.scale}, device, out);
  return out;
}

}  // namespace vd
