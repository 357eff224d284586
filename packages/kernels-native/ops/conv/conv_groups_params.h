// Parameters of the kernels for grouped and depthwise convolutions.
#pragma once
#include <cstdint>

#include "../../device/matmul_mma.h"

namespace vd::device {

/** Neighbouring pixels of a row that a thread computes; in the kernel that slides down a column. */
inline constexpr int kGroupPixels = 4, kColumnPixels = 2;
/** Threads of a block of the kernel that slides down a column. */
inline constexpr int kColumnThreads = 128;

/** `conv` has x, its past, the geometry and the tail; weights are float32, [taps, channels of a group, K]. */
struct ConvGroupsParams {
  MatmulMmaParams conv;
  int32_t groupChannels, groupColumns;
  int64_t items;      // threads with work: strips of pixels times columns, or times eights of columns
  int32_t stripRows;  // rows of results that a thread takes one after the other, where it slides down a column
};

}  // namespace vd::device
