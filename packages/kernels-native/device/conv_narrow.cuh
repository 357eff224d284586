// 3x3 convolutions of many channels to at most eight: the last layer of decoders and denoisers.
//
// A matrix tile of pixels by outputs would read every pixel once a tap for next to no products. Here a block computes 8 by 32
// pixels, a warp a row: 10 by 34 source pixels of 32 channels at a time lie in shared memory (64 bytes a pixel, 16-byte chunk c
// of pixel i at c ^ (i / 2 & 3), without bank conflicts), every tap reads them there at its offset, and the filters' fragments
// come straight from L1, once for both halves of the row.
//
// Measured beside matrix tiles in docs/kernels/conv.md.
#pragma once
#include "epilogue.cuh"
#include "kernel.cuh"
#include "matmul_mma.h"
#include "ptx/mma.cuh"
#include "ring.cuh"

namespace vd::device {

/** Blocks a multiprocessor is to hold: before sm_80 loads go through registers, which are then too few for two. */
#if __CUDA_ARCH__ >= 800
inline constexpr int kNarrowBlocks = 2;
#else
inline constexpr int kNarrowBlocks = 1;
#endif
inline constexpr int kNarrowSourceW = kNarrowTileW + 2, kNarrowPixels = (kNarrowTileH + 2) * kNarrowSourceW;
inline constexpr int kNarrowStageBytes = kNarrowPixels * 64;
inline constexpr int kNarrowCopies = (kNarrowPixels * 4 + kNarrowThreads - 1) / kNarrowThreads;

/** A block's frame (counted over batches) and first output pixel. */
struct NarrowTile {
  int frame, h, w;
};
__device__ __forceinline__ NarrowTile narrow_tile(const MatmulMmaParams& p) {
  const int across = (p.out[2] + kNarrowTileW - 1) / kNarrowTileW, down = (p.out[1] + kNarrowTileH - 1) / kNarrowTileH;
  const int tile = blockIdx.x, row = tile / across;
  return {row / down, row % down * kNarrowTileH, tile % across * kNarrowTileW};
}

/** Where this thread's chunks of a stage come from: elements from the frame's first, without the channel; -1 in the padding. */
struct NarrowSources {
  int32_t offset[kNarrowCopies];
};
__device__ __forceinline__ NarrowSources narrow_sources(const MatmulMmaParams& p, const NarrowTile& tile) {
  NarrowSources sources;
#pragma unroll
  for (int i = 0; i < kNarrowCopies; ++i) {
    const int pixel = (threadIdx.x + i * kNarrowThreads) / 4;
    const int h = tile.h - p.padding[1] + pixel / kNarrowSourceW, w = tile.w - p.padding[2] + pixel % kNarrowSourceW;
    const bool inside = h >= 0 && w >= 0 && h < p.source[1] && w < p.source[2];
    sources.offset[i] = inside ? (h * p.source[2] + w) * static_cast<int>(p.pitch) + static_cast<int>(threadIdx.x & 3) * 8 : -1;
  }
  return sources;
}

/** Starts loading channels [c, c + 32) of the source pixels. */
template <class T>
__device__ __forceinline__ void narrow_load(const T* frame, const NarrowSources& sources, uint32_t stage, int c) {
#pragma unroll
  for (int i = 0; i < kNarrowCopies; ++i) {
    const int index = threadIdx.x + i * kNarrowThreads, pixel = index / 4;
    if (pixel >= kNarrowPixels) continue;
    const bool inside = sources.offset[i] >= 0;
    ptx::copy16(stage + pixel * 64 + (((index & 3) ^ (pixel >> 1 & 3)) << 4), inside ? frame + sources.offset[i] + c : frame, inside);
  }
}

/** The filters' fragments of 32 channels: outputs by lane / 4, channels by lane % 4. */
template <class T>
__device__ __forceinline__ void narrow_filters(const MatmulMmaParams& p, int c, uint32_t (&b)[9][2][2]) {
  const int n = (threadIdx.x & 31) >> 2;
  const T* row = static_cast<const T*>(p.weights) + static_cast<int64_t>(n) * p.depth + c + (threadIdx.x & 3) * 2;
#pragma unroll
  for (int tap = 0; tap < 9; ++tap)
#pragma unroll
    for (int step = 0; step < 2; ++step)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        b[tap][step][half] =
            n < p.columns ? __ldg(reinterpret_cast<const uint32_t*>(row + tap * p.tapChannels + step * 16 + half * 8)) : 0u;
}

/** Adds 32 channels to a warp's row of 32 pixels. */
template <class T>
__device__ __forceinline__ void narrow_multiply(float (&acc)[2][4], const uint32_t (&b)[9][2][2], uint32_t stage) {
  const int lane = threadIdx.x & 31, first = threadIdx.x / 32 * kNarrowSourceW + (lane & 15);
#pragma unroll
  for (int tap = 0; tap < 9; ++tap)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int pixel = first + tap / 3 * kNarrowSourceW + tap % 3 + 16 * part;
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        uint32_t a[4];
        ptx::ldmatrix_x4(a, stage + pixel * 64 + (((2 * step + (lane >> 4)) ^ (pixel >> 1 & 3)) << 4));
        ptx::mma_16816<T>(acc[part], a, b[tap][step]);
      }
    }
}

/** Results through shared memory: then a thread has a pixel, and the tail's code appears once. */
__device__ __forceinline__ void narrow_store(const MatmulMmaParams& p, const float (&acc)[2][4], const NarrowTile& tile, float* staged) {
  const int lane = threadIdx.x & 31, row = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int w = i / 4 * 16 + (lane >> 2) + i % 4 / 2 * 8, n = (lane & 3) * 2 + i % 2;
    staged[(row * kNarrowTileW + w) * (kNarrowColumns + 1) + n] = acc[i / 4][i % 4];
  }
  __syncwarp();  // a row is a warp's
  const int h = tile.h + row, w = tile.w + lane;
  if (h >= p.out[1] || w >= p.out[2]) return;
  const int64_t pixel = (static_cast<int64_t>(tile.frame) * p.out[1] + h) * p.out[2] + w;
#pragma unroll 1
  for (int n = 0; n < p.columns; ++n)
    finish1(p.epilogue, staged[(row * kNarrowTileW + lane) * (kNarrowColumns + 1) + n], pixel, n, false);
}

template <class T> __device__ __forceinline__ void conv_narrow(const MatmulMmaParams& p) {
  __shared__ __align__(128) uint8_t ring[2 * kNarrowStageBytes];
  const uint32_t base = shared_address(ring);
  const NarrowTile tile = narrow_tile(p);
  const NarrowSources sources = narrow_sources(p, tile);
  const T* frame = static_cast<const T*>(p.x) + static_cast<int64_t>(tile.frame) * p.source[1] * p.source[2] * p.pitch;
  const auto load = [&](int step, int stage) { narrow_load<T>(frame, sources, base + stage * kNarrowStageBytes, step * 32); };
  const int numSteps = p.channels / 32;
  float acc[2][4] = {};
  ring_start<2>(numSteps, load);
  ring_run<2>(numSteps, load, [&](int step, int stage) {
    uint32_t b[9][2][2];
    narrow_filters<T>(p, step * 32, b);
    narrow_multiply<T>(acc, b, base + stage * kNarrowStageBytes);
  });
  narrow_store(p, acc, tile, reinterpret_cast<float*>(ring));
}

}  // namespace vd::device
