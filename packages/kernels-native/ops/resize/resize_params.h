// Parameters of the resize kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct ResizeParams {
  const void* x;
  void* y;
  int64_t pixels, xPitch, yPitch;   // pixels: of y
  int32_t inHeight, inWidth, outHeight, outWidth, channels;
  int32_t mode;                     // vd::ResizeMode
  int32_t alignCorners, xType, yType;
};

}  // namespace vd::device
