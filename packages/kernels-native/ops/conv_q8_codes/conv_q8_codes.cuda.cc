#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/conv_q8.h"

namespace vd {

cuda::Candidates conv_q8_codes_cuda_variants(const ConvQ8CodesArgs& a, const cuda::DeviceInfo& device,
                                             const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  cuda::add_conv_q8(
      {a.x, a.xScale, a.weight, a.weightScale, a.yScale.as<const float>(), a.stride, a.padding, cuda::epilogue_operands(a), a.transposed},
      device, out);
  return out;
}

}  // namespace vd
