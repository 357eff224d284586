// Parameters of the layer_norm kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct LayerNormParams {
  const void* x;
  const void* weight;
  const void* bias;
  void* y;
  int64_t rows, pitch, yPitch;
  int32_t channels, weightType, biasType;
  float eps;
  int32_t constantWeights;  // nothing on the device writes weights and biases while the kernel may run: they are loaded early
};

/** Most threads of a block of few rows. */
inline constexpr int kLayerNormReadyThreads = 256;

}  // namespace vd::device
