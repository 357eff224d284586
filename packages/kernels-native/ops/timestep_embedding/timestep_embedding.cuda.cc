#include "../../native/generated/op_planners.h"

#include <cmath>

#include "../../device/elementwise.h"
#include "timestep_embedding_params.h"

namespace vd {

std::vector<cuda::Plan> plan_timestep_embedding_cuda(const TimestepEmbeddingArgs& a, const cuda::DeviceInfo&) {
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
  return device::elementwise_plan("timestep_embedding_scalar", p.count * p.half, p);
}

}  // namespace vd
