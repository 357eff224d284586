// Parameters of the space_to_depth kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct SpaceToDepthParams {
  const void* x;
  void* y;
  int64_t count;                       // elements
  int64_t deepPitch, widePitch;        // of y, which has more channels, and of x, which has more pixels
  int32_t frames, height, width, channels;  // of x
  int32_t block[3];
  int32_t xType, yType;
};

}  // namespace vd::device
