// Parameters of the layout_out kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** Channels that a thread moves. */
inline constexpr int32_t kLayoutRun = 4;

struct LayoutOutParams {
  const void* x;
  void* y;
  int64_t rows;                  // frames times image rows
  int64_t planesPitch, pixelsPitch;  // elements from one row of a plane, or one pixel, to the next
  int32_t height, width, channels, runs;  // runs: groups of kLayoutRun channels
  int32_t xType, yType;
  float scale, shift;
};

}  // namespace vd::device
