// Parameters of the pool kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct PoolParams {
  const void* x;
  void* y;
  int64_t pixels, xPitch, yPitch;  // pixels: of y
  int32_t source[3], out[3];       // frames, height, width of x and of y
  int32_t kernel[3], stride[3];
  int32_t padding[3];              // before frames, height, width
  int32_t channels, xType, yType;
  int32_t fixedCount;              // what averages divide by, or 0: by as many elements as lie inside
};

}  // namespace vd::device
