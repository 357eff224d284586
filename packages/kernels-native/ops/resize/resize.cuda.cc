#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "resize_params.h"

namespace vd {

cuda::Candidates resize_cuda_variants(const ResizeArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  device::ResizeParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.pixels = a.y.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.inHeight = static_cast<int32_t>(a.x.dim(2));
  p.inWidth = static_cast<int32_t>(a.x.dim(3));
  p.outHeight = static_cast<int32_t>(a.height);
  p.outWidth = static_cast<int32_t>(a.width);
  p.channels = static_cast<int32_t>(a.x.channels());
  p.mode = static_cast<int32_t>(a.mode);
  p.alignCorners = a.alignCorners;
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  const cuda::Reason againstVector = cuda::first_of({cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.y, "y", 8, true)});
  return cuda::run_candidates("resize_vector", "resize_scalar", againstVector, p.pixels * p.channels, p, options, device.smVersion >= 90);
}

}  // namespace vd
