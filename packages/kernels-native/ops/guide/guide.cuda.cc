#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "guide_params.h"

namespace vd {

cuda::Candidates guide_cuda_variants(const GuideArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::GuideParams p{};
  p.x = a.x.data;
  p.scale = a.scale.as<float>();
  p.y = a.y.data;
  p.pixels = a.y.pixels();
  p.pixelsPerFrame = a.x.dim(2) * a.x.dim(3);
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  return cuda::elementwise_candidates("guide_scalar", p.pixels * p.channels, p, options);
}

}  // namespace vd
