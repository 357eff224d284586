#include "../../native/generated/op_planners.h"

#include "../../device/elementwise.h"
#include "frames_out_params.h"

namespace vd {

std::vector<cuda::Plan> plan_frames_out_cuda(const FramesOutArgs& a, const cuda::DeviceInfo&) {
  device::FramesOutParams p{};
  p.x = a.x.data;
  p.y = a.y.as<uint8_t>();
  p.pixels = a.x.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  const int64_t elements = p.pixels * p.channels;
  const bool packed = a.x.pitch == a.x.channels() && a.y.pitch == a.y.channels();
  // Where pixels are packed, eight elements in a row are one access, whichever pixels they belong to.
  const bool wide = packed && elements % 8 == 0 && cuda::aligned16(a.x.data) && cuda::aligned16(a.y.data);
  return wide ? device::elementwise_plan("frames_out_wide", elements / 8, p) : device::elementwise_plan("frames_out_scalar", elements, p);
}

}  // namespace vd
