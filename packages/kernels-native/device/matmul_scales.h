// Scales of 8-bit operands of conv and linear, as plain data shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** Scales of 8-bit operands. Those of x: a float for each token, or fewer (strides of 0); those of the weights: a float for
 *  each row, or one. Scales of blocks of 128 channels follow each other: of x beside each other, of the weights [blocks, rows]. */
struct MatmulScales {
  const float* x;
  const float* weight;
  int64_t xStride[3];       // of clips, frames, pixels
  int64_t pixelStride;      // from one pixel of all clips to the next, where that is always the same; else -1
  int64_t weightStride;     // 1, or 0 when all rows share one
  int64_t xBlockStride;     // 1, or 0 without blocks
  int64_t weightBlockStride;
};

}  // namespace vd::device
