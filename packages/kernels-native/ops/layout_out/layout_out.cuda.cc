#include "../../native/generated/op_planners.h"

#include "../../device/elementwise.h"
#include "layout_out_params.h"

namespace vd {

std::vector<cuda::Plan> plan_layout_out_cuda(const LayoutOutArgs& a, const cuda::DeviceInfo&) {
  device::LayoutOutParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.height = static_cast<int32_t>(a.x.dim(2));
  p.width = static_cast<int32_t>(a.x.dim(3));
  p.rows = a.x.dim(0) * a.x.dim(1) * p.height;
  p.planesPitch = a.y.pitch;
  p.pixelsPitch = a.x.pitch;
  p.runs = static_cast<int32_t>(cuda::ceil_div(p.channels, device::kLayoutRun));
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  p.scale = a.scale;
  p.shift = a.shift;
  return device::elementwise_plan("layout_out_scalar", p.rows * p.width * p.runs, p);
}

}  // namespace vd
