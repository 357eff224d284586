#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "layout_in_params.h"

namespace vd {

cuda::Candidates layout_in_cuda_variants(const LayoutInArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::LayoutInParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.channels = static_cast<int32_t>(a.y.channels());
  p.height = static_cast<int32_t>(a.y.dim(2));
  p.width = static_cast<int32_t>(a.y.dim(3));
  p.rows = a.y.dim(0) * a.y.dim(1) * p.height;
  p.planesPitch = a.x.pitch;
  p.pixelsPitch = a.y.pitch;
  p.runs = static_cast<int32_t>(cuda::ceil_div(p.channels, device::kLayoutRun));
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  p.scale = a.scale;
  p.shift = a.shift;
  return cuda::elementwise_candidates("layout_in_scalar", p.rows * p.width * p.runs, p, options);
}

}  // namespace vd
