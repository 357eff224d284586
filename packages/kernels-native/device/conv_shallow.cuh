// 3x3 convolutions of at most four channels to many: the first layer of encoders and denoisers.
//
// The cores for products move 16 bytes at a time, which is more than a pixel has, and multiply what lies behind its channels. Here a block
// computes 8 by 32 pixels of 64 columns, a warp a row: 10 by 34 source pixels lie in shared memory, filled up to four channels, and a
// product's reduction is all nine taps of them. The filters stay in registers. Which column of a product is which output channel is free:
// each lane gets two runs of eight, so that four lanes store 64 bytes of a pixel.
//
// Measured beside matrix tiles in docs/kernels/conv.md.
#pragma once
#include "epilogue.cuh"
#include "kernel.cuh"
#include "matmul_mma.h"
#include "ptx/mma.cuh"

namespace vd::device {

template <class T_> struct ShallowConfig {
  using T = T_;
  static constexpr int kChannels = kShallowChannels, kTaps = 9;
  static constexpr int kSteps = (kTaps * kChannels + 15) / 16;
  static constexpr int kSourceW = kShallowTileW + 2, kPixels = (kShallowTileH + 2) * kSourceW;
  /** Products of eight columns. */
  static constexpr int kProducts = kShallowColumns / 8;
};

/** A block's frame (counted over batches), first output pixel and first column. */
struct ShallowTile {
  int frame, h, w, column;
};
__device__ __forceinline__ ShallowTile shallow_tile(const MatmulMmaParams& p) {
  const int across = (p.out[2] + kShallowTileW - 1) / kShallowTileW, down = (p.out[1] + kShallowTileH - 1) / kShallowTileH;
  const int columns = (p.columns + kShallowColumns - 1) / kShallowColumns;
  const int tile = blockIdx.x / columns, row = tile / across;
  return {row / down, row % down * kShallowTileH, tile % across * kShallowTileW,
          (static_cast<int>(blockIdx.x) - tile * columns) * kShallowColumns};
}

/** Fills the source pixels: zeros in the padding and behind the channels. By all threads. */
template <class Config>
__device__ __forceinline__ void shallow_load(const MatmulMmaParams& p, const ShallowTile& tile, typename Config::T* pixels) {
  using T = typename Config::T;
  const T* frame = static_cast<const T*>(p.x) + static_cast<int64_t>(tile.frame) * p.source[1] * p.source[2] * p.pitch;
  for (int i = threadIdx.x; i < Config::kPixels * Config::kChannels; i += kShallowThreads) {
    const int pixel = i / Config::kChannels, channel = i % Config::kChannels;
    const int h = tile.h - p.padding[1] + pixel / Config::kSourceW, w = tile.w - p.padding[2] + pixel % Config::kSourceW;
    const bool inside = channel < p.channels && h >= 0 && w >= 0 && h < p.source[1] && w < p.source[2];
    pixels[i] = inside ? frame[(static_cast<int64_t>(h) * p.source[2] + w) * p.pitch + channel] : T(0.0f);
  }
}

/** The output channel of column `q` of a block's `product`-th product, counted from the block's first. */
__device__ __forceinline__ constexpr int shallow_channel(int product, int q) {
  return product / 4 * 32 + q / 2 * 8 + product % 4 * 2 + q % 2;
}

/** Of the numbers of a step that a lane holds, those at `half`, which are neighbours: their tap and first channel. */
template <class Config> struct ShallowPlace {
  int tap, channel;
  __device__ __forceinline__ ShallowPlace(int step, int half) {
    const int k = step * 16 + half * 8 + (threadIdx.x & 3) * 2;
    tap = k / Config::kChannels;
    channel = k % Config::kChannels;
  }
  /** Whether there is such a tap: what lies behind the last one fills a product up. */
  __device__ __forceinline__ bool exists() const { return tap < Config::kTaps; }
};

template <class Config>
__device__ __forceinline__ void shallow_filters(const MatmulMmaParams& p, int column,
                                                uint32_t (&filters)[Config::kProducts][Config::kSteps][2]) {
  const auto* weights = static_cast<const typename Config::T*>(p.weights);
#pragma unroll
  for (int product = 0; product < Config::kProducts; ++product) {
    const int n = column + shallow_channel(product, (threadIdx.x & 31) >> 2);
#pragma unroll
    for (int step = 0; step < Config::kSteps; ++step)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const ShallowPlace<Config> place(step, half);
        const auto* at = weights + static_cast<int64_t>(n) * p.depth + place.tap * p.tapChannels + place.channel;
        filters[product][step][half] = place.exists() && n < p.columns ? __ldg(reinterpret_cast<const uint32_t*>(at)) : 0u;
      }
  }
}

/** Stores two pixels' results, eight apart in a row, of which a lane has two runs of eight channels each. */
template <class Config>
__device__ __forceinline__ void shallow_store(const MatmulMmaParams& p, const ShallowTile& tile, int row, int column,
                                              const float (&acc)[Config::kProducts][4]) {
  using T = typename Config::T;
  const bool typed = tail_reads_ahead<T>(p.epilogue);
  const int h = tile.h + row;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int w = tile.w + column + 8 * r;
    if (h >= p.out[1] || w >= p.out[2]) continue;
    const int64_t pixel = (static_cast<int64_t>(tile.frame) * p.out[1] + h) * p.out[2] + w;
#pragma unroll
    for (int run = 0; run < Config::kProducts / 4; ++run) {
      float v[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = acc[4 * run + i / 2][2 * r + i % 2];
      const int channel = tile.column + 32 * run + 8 * static_cast<int>(threadIdx.x & 3);
      if (typed) epilogue8_typed<T, true>(p.epilogue, v, pixel, channel, false);
      else epilogue8(p.epilogue, v, pixel, channel, false);
    }
  }
}

template <class Config> __device__ __forceinline__ void conv_shallow(const MatmulMmaParams& p) {
  using T = typename Config::T;
  __shared__ __align__(16) uint8_t shared[Config::kPixels * Config::kChannels * 2];
  T* pixels = reinterpret_cast<T*>(shared);
  const ShallowTile tile = shallow_tile(p);
  shallow_load<Config>(p, tile, pixels);
  uint32_t filters[Config::kProducts][Config::kSteps][2];
  shallow_filters<Config>(p, tile.column, filters);
  __syncthreads();
  const int row = threadIdx.x / 32, first = (threadIdx.x & 31) >> 2;
#pragma unroll
  for (int group = 0; group < kShallowTileW; group += 16) {
    float acc[Config::kProducts][4] = {};
#pragma unroll
    for (int step = 0; step < Config::kSteps; ++step) {
      uint32_t a[4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const ShallowPlace<Config> place(step, half);
        const T* at =
            pixels + ((row + place.tap / 3) * Config::kSourceW + group + first + place.tap % 3) * Config::kChannels + place.channel;
#pragma unroll
        for (int r = 0; r < 2; ++r)
          a[2 * half + r] = place.exists() ? *reinterpret_cast<const uint32_t*>(at + 8 * r * Config::kChannels) : 0u;
      }
#pragma unroll
      for (int product = 0; product < Config::kProducts; ++product) ptx::mma_16816<T>(acc[product], a, filters[product][step]);
    }
    shallow_store<Config>(p, tile, row, group + first, acc);
  }
}

}  // namespace vd::device
