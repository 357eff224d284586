// Parameters of the kernels for grouped and depthwise convolutions.
#pragma once
#include <cstdint>

#include "../../device/matmul_mma.h"

namespace vd::device {

/** Neighbouring pixels of a row that a thread computes. */
inline constexpr int kGroupPixels = 4;

/** `conv` has x, its past, the geometry and the tail; weights are float32, [taps, channels of a group, K]. */
struct ConvGroupsParams {
  MatmulMmaParams conv;
  int32_t groupChannels, groupColumns;
  int64_t items;  // threads with work: strips of kGroupPixels results times columns, or times eights of channels
};

}  // namespace vd::device
