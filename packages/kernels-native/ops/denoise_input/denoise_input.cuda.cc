#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "denoise_input_params.h"

namespace vd {

cuda::Candidates denoise_input_cuda_variants(const DenoiseInputArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::DenoiseInputParams p{};
  p.latents = a.latents.data;
  p.image = a.image.data;
  p.inputScale = a.inputScale.as<float>();
  p.y = a.y.data;
  p.pixels = a.latents.pixels();
  p.pixelsPerFrame = a.latents.dim(2) * a.latents.dim(3);
  p.latentsPitch = a.latents.pitch;
  p.imagePitch = a.image.pitch;
  p.yPitch = a.y.pitch;
  p.rows = static_cast<int32_t>(a.rows);
  p.latentChannels = static_cast<int32_t>(a.latents.channels());
  p.channels = static_cast<int32_t>(a.y.channels());
  p.latentsType = static_cast<int32_t>(a.latents.dtype);
  p.imageType = static_cast<int32_t>(a.image.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  return cuda::elementwise_candidates("denoise_input_scalar", p.rows * p.pixels * p.channels, p, options);
}

}  // namespace vd
