#include "../../native/generated/op_planners.h"

#include <cmath>

#include "../../native/cuda/planning/elementwise.h"
#include "timestep_embedding_params.h"

namespace vd {

cuda::Candidates timestep_embedding_cuda_variants(const TimestepEmbeddingArgs& a, const cuda::DeviceInfo&,
                                                  const cuda::PlanningOptions& options) {
  device::TimestepEmbeddingParams p{};
  p.t = a.t.as<float>();
  p.y = a.y.data;
  p.count = a.t.count();
  p.inner = a.t.channels();
  p.tPitch = a.t.pitch;
  p.yPitch = a.y.pitch;
  p.half = static_cast<int32_t>(a.width / 2);
  p.yType = static_cast<int32_t>(a.y.dtype);
  p.rate = static_cast<float>(-std::log(static_cast<double>(a.maxPeriod)));
  p.divisor = static_cast<float>(p.half) - a.downscaleShift;
  return cuda::elementwise_candidates("timestep_embedding_scalar", p.count * p.half, p, options);
}

}  // namespace vd
