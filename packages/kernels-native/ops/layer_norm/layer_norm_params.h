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
};

/** Most threads of a block that has a row, eight channels each. */
inline constexpr int kLayerNormWideThreads = 256;

}  // namespace vd::device
