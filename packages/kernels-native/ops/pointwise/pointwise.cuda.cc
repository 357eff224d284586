#include "../../native/generated/op_planners.h"

#include "pointwise_params.h"

namespace vd {

namespace {

/** Why channels cannot be taken eight at a time. */
cuda::Reason vector_reason(const PointwiseArgs& a) {
  const auto access = [](const Tensor& t, const char* name) { return cuda::access_reason(t, name, 8, false); };
  const int64_t channels = a.y.channels();
  return cuda::first_of({cuda::if_so(channels % 8 != 0, {"has # channels, which 8 does not divide", {channels}, "y"}), access(a.a, "a"),
                         access(a.b, "b"), access(a.c, "c"), access(a.frameBias, "frameBias"), access(a.y, "y")});
}

}  // namespace

cuda::Candidates pointwise_cuda_variants(const PointwiseArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::PointwiseParams p{};
  p.a = a.a.data;
  p.b = a.b.data;
  p.c = a.c.data;
  p.frameBias = a.frameBias.data;
  p.y = a.y.data;
  p.pixels = a.y.pixels();
  p.aPitch = a.a.pitch;
  p.bPitch = a.b.pitch;
  p.cPitch = a.c.pitch;
  p.yPitch = a.y.pitch;
  if (a.frameBias.present()) {
    p.frameBiasFrameStride = a.frameBias.dim(1) > 1 ? a.frameBias.pitch : 0;
    p.frameBiasBatchStride = a.frameBias.dim(0) > 1 ? a.frameBias.pitch * a.frameBias.dim(1) : 0;
  }
  p.channels = static_cast<int32_t>(a.y.channels());
  p.framesPerBatch = static_cast<int32_t>(a.y.dim(1));
  p.pixelsPerFrame = static_cast<int32_t>(a.y.dim(2));
  p.act = static_cast<int32_t>(a.act);
  p.aType = static_cast<int32_t>(a.a.dtype);
  p.bType = static_cast<int32_t>(a.b.dtype);
  p.cType = static_cast<int32_t>(a.c.dtype);
  p.frameBiasType = static_cast<int32_t>(a.frameBias.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  p.aScale = a.aScale;
  p.bScale = a.bScale;
  cuda::Candidates out(options);
  const bool vector = out.allows({"pointwise_vector"}, vector_reason(a));
  if (vector) out.reject({"pointwise_scalar"}, cuda::kScalarReason);
  cuda::Launch launch;
  launch.symbol = vector ? "pointwise_vector" : "pointwise_scalar";
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.pixels * p.channels / (vector ? 8 : 1), 256));
  launch.set_params(p);
  out.add({launch.symbol, 0, {}, {launch}});
  return out;
}

}  // namespace vd
