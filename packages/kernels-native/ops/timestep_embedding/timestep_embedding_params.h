// Parameters of the timestep_embedding kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct TimestepEmbeddingParams {
  const float* t;
  void* y;
  int64_t count, inner, tPitch, yPitch;  // inner: numbers per row of t
  int32_t half, yType;
  float rate;                            // -ln(maxPeriod)
  float divisor;                         // half - downscaleShift
};

}  // namespace vd::device
