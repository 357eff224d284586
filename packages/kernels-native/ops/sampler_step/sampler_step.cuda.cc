#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "sampler_step_params.h"

namespace vd {
namespace {

/** Operands that may be absent have pitches of their own. */
void set_optional(device::SamplerStepParams& p, const SamplerStepArgs& a) {
  p.guidance = a.guidance.as<float>();
  p.noise = a.noise.as<float>();
  p.history = a.history.as<float>();
  p.image = a.image.data;
  p.inputScale = a.inputScale.as<float>();
  p.denoised = a.denoised.as<float>();
  p.nextHistory = a.nextHistory.as<float>();
  p.input = a.input.data;
  p.noisePitch = a.noise.pitch;
  p.historyPitch = a.history.pitch;
  p.imagePitch = a.image.pitch;
  p.denoisedPitch = a.denoised.pitch;
  p.nextHistoryPitch = a.nextHistory.pitch;
  p.inputPitch = a.input.pitch;
  p.imageChannels = a.image.present() ? static_cast<int32_t>(a.image.channels()) : 0;
  p.imageType = static_cast<int32_t>(a.image.dtype);
  p.inputType = static_cast<int32_t>(a.input.dtype);
}

}  // namespace

cuda::Candidates sampler_step_cuda_variants(const SamplerStepArgs& a, const cuda::DeviceInfo&, bool explain) {
  device::SamplerStepParams p{};
  p.prediction = a.prediction.data;
  p.x = a.x.as<float>();
  p.coefficients = a.coefficients.as<float>();
  p.next = a.next.as<float>();
  set_optional(p, a);
  p.pixels = a.x.pixels();
  p.pixelsPerFrame = a.x.dim(2) * a.x.dim(3);
  p.predictionPitch = a.prediction.pitch;
  p.xPitch = a.x.pitch;
  p.coefficientsPitch = a.coefficients.pitch;
  p.nextPitch = a.next.pitch;
  p.rows = static_cast<int32_t>(a.prediction.dim(0));
  p.channels = static_cast<int32_t>(a.x.channels());
  p.numHistory = static_cast<int32_t>(a.numHistory);
  p.predictionType = static_cast<int32_t>(a.prediction.dtype);
  return cuda::elementwise_candidates("sampler_step_scalar", p.pixels, p, explain);
}

}  // namespace vd
