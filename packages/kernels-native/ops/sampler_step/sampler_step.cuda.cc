#include "../../native/generated/op_planners.h"

#include <cstddef>

#include "../../native/cuda/planning/elementwise.h"
#include "sampler_step_params.h"
#include "sampler_step_quantile.h"

namespace vd {
namespace {

using device::DataBounds;
using device::SamplerStepParams;
using device::SamplerStepThresholdParams;

static_assert(static_cast<int>(DataBounds::clip) == static_cast<int>(StepBounds::clip) &&
              static_cast<int>(DataBounds::threshold) == static_cast<int>(StepBounds::threshold));

/** Operands that may be absent have pitches of their own. */
void set_optional(SamplerStepParams& p, const SamplerStepArgs& a) {
  p.guidance = a.guidance.as<float>();
  p.noise = a.noise.as<float>();
  p.philox = a.philox.as<int32_t>();
  p.history = a.history.as<float>();
  p.previous = a.previous.as<float>();
  p.blend = a.blend.as<float>();
  p.image = a.image.data;
  p.inputScale = a.inputScale.as<float>();
  p.denoised = a.denoised.as<float>();
  p.nextHistory = a.nextHistory.as<float>();
  p.input = a.input.data;
  p.noisePitch = a.noise.pitch;
  p.historyPitch = a.history.pitch;
  p.previousPitch = a.previous.pitch;
  p.imagePitch = a.image.pitch;
  p.denoisedPitch = a.denoised.pitch;
  p.nextHistoryPitch = a.nextHistory.pitch;
  p.inputPitch = a.input.pitch;
  p.imageChannels = a.image.present() ? static_cast<int32_t>(a.image.channels()) : 0;
  p.imageType = static_cast<int32_t>(a.image.dtype);
  p.inputType = static_cast<int32_t>(a.input.dtype);
}

void set_data(SamplerStepParams& p, const SamplerStepArgs& a) {
  p.bounds = static_cast<DataBounds>(a.bounds);
  p.clipRange = a.clipRange;
  p.hasData = a.previous.present() || a.bounds != StepBounds::none;
  p.previousIsOneFrame = a.previous.present() && a.previous.dim(1) == 1;
}

SamplerStepParams step_params(const SamplerStepArgs& a) {
  SamplerStepParams p{};
  p.prediction = a.prediction.data;
  p.x = a.x.as<float>();
  p.coefficients = a.coefficients.as<float>();
  p.next = a.next.as<float>();
  set_optional(p, a);
  set_data(p, a);
  p.pixels = a.x.pixels();
  p.pixelsPerFrame = a.x.dim(2) * a.x.dim(3);
  p.predictionPitch = a.prediction.pitch;
  p.xPitch = a.x.pitch;
  p.coefficientsPitch = a.coefficients.pitch;
  p.nextPitch = a.next.pitch;
  p.lanes = a.lanes;
  p.rows = static_cast<int32_t>(a.prediction.dim(0));
  p.channels = static_cast<int32_t>(a.x.channels());
  p.numHistory = static_cast<int32_t>(a.numHistory);
  p.predictionType = static_cast<int32_t>(a.prediction.dtype);
  return p;
}

/** A step that waits for all its blocks: as many as run at once. */
cuda::Variant threshold_variant(const SamplerStepArgs& a, const cuda::DeviceInfo& device) {
  SamplerStepThresholdParams p{};
  p.step = step_params(a);
  const int64_t count = p.step.pixels * p.step.channels;
  const QuantileRank rank = quantile_rank(a.quantile, count);
  p.rank = static_cast<uint32_t>(rank.below);
  p.weight = rank.weight;
  p.maxValue = a.maxValue;
  cuda::Launch launch;
  launch.symbol = "sampler_step_threshold";
  launch.block = device::kThresholdThreads;
  launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(cuda::ceil_div(count, device::kThresholdThreads), device.numSms));
  launch.allResident = true;
  launch.set_params(p);
  const uint64_t dataAt = cuda::round_up(sizeof(device::ThresholdWork), 256);
  launch.relocations.push_back({offsetof(SamplerStepThresholdParams, work), cuda::Address::workspace(0)});
  launch.relocations.push_back({offsetof(SamplerStepThresholdParams, data), cuda::Address::workspace(dataAt)});
  const size_t bytes = cuda::round_up(dataAt + static_cast<uint64_t>(count) * sizeof(float), 256);
  return {"sampler_step_threshold", bytes, {}, {std::move(launch)}};
}

}  // namespace

cuda::Candidates sampler_step_cuda_variants(const SamplerStepArgs& a, const cuda::DeviceInfo& device,
                                            const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const bool isPlain = !a.philox.present() && !a.previous.present() && a.bounds == StepBounds::none;
  // A blend takes a pixel a thread.
  const int64_t items = a.previous.present() ? a.x.pixels() : a.x.count();
  if (a.bounds == StepBounds::threshold) out.add(threshold_variant(a, device));
  else cuda::add_elementwise(isPlain ? "sampler_step_scalar" : "sampler_step_data", items, step_params(a), out);
  return out;
}

}  // namespace vd
