#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "frames_out_params.h"

namespace vd {

cuda::Candidates frames_out_cuda_variants(const FramesOutArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::FramesOutParams p{};
  p.x = a.x.data;
  p.y = a.y.as<uint8_t>();
  p.pixels = a.x.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  const int64_t elements = p.pixels * p.channels;
  // Where pixels are packed, eight elements in a row are one access, whichever pixels they belong to.
  const auto packed = [](const Tensor& t, const char* name) {
    return cuda::first_of({cuda::if_so(t.pitch != t.channels(), {"has gaps between its pixels", {}, name}),
                           cuda::if_so(!cuda::aligned16(t.data), {"is not 16-byte aligned", {}, name})});
  };
  const cuda::Reason againstWide = cuda::first_of(
      {packed(a.x, "x"), packed(a.y, "y"), cuda::if_so(elements % 8 != 0, {"takes eight elements at a time, there are #", {elements}})});
  return cuda::run_candidates("frames_out_wide", "frames_out_scalar", againstWide, elements, p, options);
}

}  // namespace vd
