// Parameters of the kernels for grouped and depthwise convolutions.
#pragma once
#include <cstdint>

#include "../../device/matmul_mma.h"

namespace vd::device {

/** Neighbouring pixels of a row that a thread computes. */
inline constexpr int kGroupPixels = 4;
/** Warps of a block of the kernels that slide down (conv_slide.cu), each on its own. */
inline constexpr int kSlideWarps = 4;
/** Rows and columns of a block of the kernels on tensor cores (conv_groups_mma.cu). */
inline constexpr int kGroupsMmaH = 8, kGroupsMmaW = 16;

/** `conv` has x, its past, the geometry and the tail; weights are float32, [taps, channels of a group, K], on tensor cores fragments. */
struct ConvGroupsParams {
  MatmulMmaParams conv;
  int32_t groupChannels, groupColumns;
  int64_t items;  // threads with work, strips of pixels times columns or eights of columns; warps, where they slide down; tiles of pixels
  int32_t stripRows;  // rows of results that a warp takes one after the other, where it slides down
};

}  // namespace vd::device
