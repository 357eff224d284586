#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "copy_params.h"

namespace vd {

cuda::Candidates copy_cuda_variants(const CopyArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::CopyParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.pixels = a.x.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  const cuda::Reason againstVector = cuda::first_of({cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.y, "y", 8, true)});
  return cuda::run_candidates("copy_vector", "copy_scalar", againstVector, p.pixels * p.channels, p, options);
}

}  // namespace vd
