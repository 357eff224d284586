#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "layout_out_params.h"

namespace vd {

cuda::Candidates layout_out_cuda_variants(const LayoutOutArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
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
  return cuda::elementwise_candidates("layout_out_scalar", p.rows * p.width * p.runs, p, options);
}

}  // namespace vd
