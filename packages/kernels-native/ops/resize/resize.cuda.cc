#include "../../native/generated/op_planners.h"

#include "../../device/elementwise.h"
#include "resize_params.h"

namespace vd {

std::vector<cuda::Plan> plan_resize_cuda(const ResizeArgs& a, const cuda::DeviceInfo&) {
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
  const bool wide = device::has_wide_channels(a.x) && device::has_wide_channels(a.y);
  return device::elementwise_plan(wide ? "resize_vector" : "resize_scalar", p.pixels * p.channels / (wide ? 8 : 1), p);
}

}  // namespace vd
