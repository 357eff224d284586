#include "../../native/generated/op_planners.h"

#include "../../device/elementwise.h"
#include "guide_params.h"

namespace vd {

std::vector<cuda::Plan> plan_guide_cuda(const GuideArgs& a, const cuda::DeviceInfo&) {
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
  return device::elementwise_plan("guide_scalar", p.pixels * p.channels, p);
}

}  // namespace vd
