// Parameters of the batch_norm kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct BatchNormParams {
  const void* x;
  const void* mean;
  const void* variance;
  const void* weight;  // or null
  const void* bias;    // or null
  void* y;
  int64_t pixels, xPitch, yPitch;
  int32_t channels, act;
  int32_t xType, meanType, varianceType, weightType, biasType, yType;
  float eps;
};

}  // namespace vd::device
