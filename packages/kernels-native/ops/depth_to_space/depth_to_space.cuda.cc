#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "depth_to_space_params.h"

namespace vd {

cuda::Candidates depth_to_space_cuda_variants(const DepthToSpaceArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::DepthToSpaceParams p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.count = a.x.count();
  p.deepPitch = a.x.pitch;
  p.widePitch = a.y.pitch;
  p.frames = static_cast<int32_t>(a.y.dim(1));
  p.height = static_cast<int32_t>(a.y.dim(2));
  p.width = static_cast<int32_t>(a.y.dim(3));
  p.channels = static_cast<int32_t>(a.y.channels());
  for (int i = 0; i < 3; ++i) p.block[i] = static_cast<int32_t>(a.block[i]);
  p.channelsLast = a.order == DepthOrder::channels_last;
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  return cuda::elementwise_candidates("depth_to_space_scalar", p.count, p, options);
}

}  // namespace vd
