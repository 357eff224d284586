// Parameters of the copy kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct CopyParams {
  const void* x;
  void* y;
  int64_t pixels, xPitch, yPitch;
  int32_t channels, xType, yType;
};

}  // namespace vd::device
