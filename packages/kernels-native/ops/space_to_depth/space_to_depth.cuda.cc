#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "space_to_depth_params.h"

namespace vd {

cuda::Candidates space_to_depth_cuda_variants(const SpaceToDepthArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::SpaceToDepthParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.count = a.x.count();
  p.deepPitch = a.y.pitch;
  p.widePitch = a.x.pitch;
  p.frames = static_cast<int32_t>(a.x.dim(1));
  p.height = static_cast<int32_t>(a.x.dim(2));
  p.width = static_cast<int32_t>(a.x.dim(3));
  p.channels = static_cast<int32_t>(a.x.channels());
  for (int i = 0; i < 3; ++i) p.block[i] = static_cast<int32_t>(a.block[i]);
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  return cuda::elementwise_candidates("space_to_depth_scalar", p.count, p, options);
}

}  // namespace vd
