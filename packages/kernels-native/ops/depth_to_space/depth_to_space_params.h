// Parameters of the depth_to_space kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct DepthToSpaceParams {
  const void* x;
  void* y;
  int64_t count;                       // elements
  int64_t deepPitch, widePitch;        // of x, which has more channels, and of y, which has more pixels
  int32_t frames, height, width, channels;  // of y
  int32_t block[3];
  int32_t channelsLast;                // order of the deep channels: see the contract's DepthOrder
  int32_t xType, yType;
};

}  // namespace vd::device
