#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "pool_params.h"

namespace vd {

cuda::Candidates pool_cuda_variants(const PoolArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  device::PoolParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.pixels = a.y.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  for (int i = 0; i < 3; ++i) {
    p.source[i] = static_cast<int32_t>(a.x.dim(1 + i));
    p.out[i] = static_cast<int32_t>(a.y.dim(1 + i));
    p.kernel[i] = static_cast<int32_t>(a.kernel[i]);
    p.stride[i] = static_cast<int32_t>(a.stride[i]);
    p.padding[i] = static_cast<int32_t>(a.padding[2 * i]);
  }
  p.channels = static_cast<int32_t>(a.x.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  p.fixedCount = a.countIncludePad ? p.kernel[0] * p.kernel[1] * p.kernel[2] : 0;
  const std::string prefix = a.mode == PoolMode::max ? "pool_max_" : "pool_average_";
  const cuda::Reason againstVector = cuda::first_of({cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.y, "y", 8, true)});
  return cuda::run_candidates(prefix + "vector", prefix + "scalar", againstVector, p.pixels * p.channels, p, options,
                              device.smVersion >= 90);
}

}  // namespace vd
