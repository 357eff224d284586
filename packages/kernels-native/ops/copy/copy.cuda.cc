#include "../../native/generated/op_planners.h"

#include "../../device/elementwise.h"
#include "copy_params.h"

namespace vd {

std::vector<cuda::Plan> plan_copy_cuda(const CopyArgs& a, const cuda::DeviceInfo&) {
  device::CopyParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.pixels = a.x.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  const bool wide = device::has_wide_channels(a.x) && device::has_wide_channels(a.y);
  return device::elementwise_plan(wide ? "copy_vector" : "copy_scalar", p.pixels * p.channels / (wide ? 8 : 1), p);
}

}  // namespace vd
