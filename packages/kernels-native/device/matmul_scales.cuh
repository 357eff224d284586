// Scales of 8-bit operands of conv and linear, by output pixel and weight row.
#pragma once
#include "epilogue.h"
#include "matmul_scales.h"

namespace vd::device {

/** The scale of what output pixel `pixel` reads, or with blocks that of its first block. pixelsPerFrame, framesPerBatch: of the output. */
__device__ __forceinline__ const float* pixel_scale(const MatmulScales& s, const Epilogue& e, int64_t pixel) {
  if (s.pixelStride >= 0) return s.x + pixel * s.pixelStride;
  const uint32_t frame = static_cast<uint32_t>(pixel) / static_cast<uint32_t>(e.pixelsPerFrame);
  const uint32_t batch = frame / static_cast<uint32_t>(e.framesPerBatch);
  return s.x + batch * s.xStride[0] + (frame - batch * e.framesPerBatch) * s.xStride[1] +
         (static_cast<uint32_t>(pixel) - frame * e.pixelsPerFrame) * s.xStride[2];
}

/** The scales of two neighbouring rows of the weights, of which there are `count`. */
__device__ __forceinline__ float2 weight_scales(const MatmulScales& s, int row, int count, int64_t block) {
  const float* at = s.weight + block * s.weightBlockStride;
  const int last = count - 1;
  return make_float2(__ldg(at + min(row, last) * s.weightStride), __ldg(at + min(row + 1, last) * s.weightStride));
}

}  // namespace vd::device
