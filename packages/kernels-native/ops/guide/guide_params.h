// Parameters of the guide kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct GuideParams {
  const void* x;
  const float* scale;
  void* y;
  int64_t pixels, pixelsPerFrame;  // pixels: of one row
  int64_t xPitch, yPitch;
  int32_t channels, xType, yType;
};

}  // namespace vd::device
