#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/linear_q8.h"

namespace vd {

cuda::Candidates linear_q8_codes_cuda_variants(const LinearQ8CodesArgs& a, const cuda::DeviceInfo& device,
                                               const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  cuda::add_linear_q8({a.x, a.xScale, a.weight, a.weightScale, a.yScale.as<const float>(), cuda::epilogue_operands(a)}, device, out);
  return out;
}

}  // namespace vd
