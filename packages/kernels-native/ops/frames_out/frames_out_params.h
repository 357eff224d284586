// Parameters of the frames_out kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct FramesOutParams {
  const void* x;
  uint8_t* y;
  int64_t pixels;
  int64_t xPitch, yPitch;
  int32_t channels, xType;
};

}  // namespace vd::device
