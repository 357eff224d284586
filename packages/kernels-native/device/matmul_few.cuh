// Convolutions of few channels to few: a pixel a thread, the filters in shared memory. Tensor cores would multiply by zeros.
//
// Measured beside matrix tiles in docs/kernels/conv.md.
#pragma once
#include "matmul_mma.cuh"

namespace vd::device {

template <class T, bool kClip = false> __device__ __forceinline__ void matmul_few(const MatmulMmaParams& p) {
  __shared__ float filters[kFewDepth][kFewColumns];
  for (int i = threadIdx.x; i < p.depth * kFewColumns; i += blockDim.x) {
    const int k = i / kFewColumns, n = i % kFewColumns;
    filters[k][n] = n < p.columns ? to_float(static_cast<const T*>(p.weights)[static_cast<int64_t>(n) * p.depth + k]) : 0.0f;
  }
  __syncthreads();
  const int taps = p.depth / p.tapChannels;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < p.rows; row += step) {
    const SourcePixel source = source_pixel(p, static_cast<int>(row));
    float sum[kFewColumns] = {};
    for (int tap = 0; tap < taps; ++tap) {
      const T* x;
      if constexpr (kClip) {
        x = clip_source<T>(p, source, tap);
        if (x == nullptr) continue;
      } else {
        const int64_t pixel = tap_pixel(p, source, tap);
        if (pixel < 0) continue;
        x = static_cast<const T*>(p.x) + pixel * p.pitch;
      }
      for (int c = 0; c < p.channels; ++c) {
        const float v = to_float(x[c]);
#pragma unroll
        for (int n = 0; n < kFewColumns; ++n) sum[n] = fmaf(v, filters[tap * p.tapChannels + c][n], sum[n]);
      }
    }
#pragma unroll
    for (int n = 0; n < kFewColumns; ++n)
      if (n < p.columns) finish1(p.epilogue, sum[n], row, n, false);
  }
}

}  // namespace vd::device
