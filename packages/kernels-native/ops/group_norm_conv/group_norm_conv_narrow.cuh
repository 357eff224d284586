// 3x3 convolutions to at most four channels of a clip whose channel groups are normalised on the way: the last layer of decoders.
//
// Nine taps times few channels are few columns: a pixel is multiplied with all filters of all taps at once, and a result is the sum of nine
// of these products of its neighbours. So a pixel's channels are read once, by the lanes that need them as fragments, and normalised in
// registers; they never lie in shared memory, only their 9 to 36 products do. A block computes 16 by 32 results from 18 by 34 pixels.
//
//   for 32 channels at a time:  load x ahead ─► act(x · scale + shift) ─► mma with the filters of every tap
//   products to shared memory ─► barrier ─► a result is bias + nine of them
//
// Sums over channels stand in float32, 32 channels at a time in one order. Figures: docs/kernels/group_norm_conv.md.
#pragma once
#include "../../device/epilogue.cuh"
#include "../../device/group_norm_apply.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/mma.cuh"
#include "group_norm_conv_narrow.h"

namespace vd::device {

/** A block's frame (counted over batches) and first result. */
struct NormedFewTile {
  int frame, h, w;
};
__device__ __forceinline__ NormedFewTile normed_few_tile(const NormedFewParams& p) {
  const int across = (p.width + kNormedFewW - 1) / kNormedFewW, down = (p.height + kNormedFewH - 1) / kNormedFewH;
  const int tile = blockIdx.x, row = tile / across;
  return {row / down, row % down * kNormedFewH, tile % across * kNormedFewW};
}

/** Where a block's tables lie in shared memory. */
struct NormedFewShared {
  uint8_t* filters;
  float2* affine;
  float* products;
};

/** Filters of every tap and channel: row tap · columns + k; rows behind the last are zeros. */
template <class T, int kTiles> __device__ __forceinline__ void normed_few_filters(const NormedFewParams& p, const NormedFewShared& s) {
  const int vectors = p.channels / 8;
  const T* weights = static_cast<const T*>(p.weights);
  for (int i = threadIdx.x; i < kTiles * 8 * vectors; i += kNormedFewThreads) {
    const int row = i / vectors, vector = i % vectors, tap = row / p.columns, k = row % p.columns;
    const int64_t from = (static_cast<int64_t>(k) * kNormedFewTaps + tap) * p.channels + vector * 8;
    const uint4 v = row < p.products ? __ldg(reinterpret_cast<const uint4*>(weights + from)) : make_uint4(0, 0, 0, 0);
    *reinterpret_cast<uint4*>(s.filters + row * p.filterPitch + vector * 16) = v;
  }
}

/** Scale and shift of every channel of the block's frame, as what is applied behind them takes them. */
__device__ __forceinline__ void normed_few_affine(const NormedFewParams& p, int frame, const NormedFewShared& s) {
  const float* stats = p.norm.stats + static_cast<int64_t>(frame / p.norm.framesPerRow) * p.norm.groups * p.norm.statsPitch;
  for (int c = threadIdx.x; c < p.channels; c += kNormedFewThreads) {
    const float* pair = stats + c / p.norm.groupChannels * p.norm.statsPitch;
    const float scale = __ldg(pair + 1) * __ldg(p.norm.weight + c);
    const float factor = p.norm.silu ? NormHalvedSilu::kFactor : 1.0f;
    s.affine[c] = make_float2(factor * scale, factor * fmaf(-__ldg(pair), scale, __ldg(p.norm.bias + c)));
  }
}

/** Four rows of a unit of 32 source pixels that this lane has fragments of: elements from the frame's first; -1 in the padding. */
__device__ __forceinline__ void normed_few_rows(const NormedFewParams& p, const NormedFewTile& tile, int unit, int32_t (&rows)[4]) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int pixel = unit * kNormedFewUnit + r * 8 + lane / 4;
    const int h = tile.h - 1 + pixel / kNormedFewSourceW, w = tile.w - 1 + pixel % kNormedFewSourceW;
    const bool inside = pixel < kNormedFewPixels && h >= 0 && w >= 0 && h < p.height && w < p.width;
    rows[r] = inside ? (h * p.width + w) * p.pitch + lane % 4 * 8 : -1;
  }
}

/** A lane's eight channels of four rows. */
template <class T> __device__ __forceinline__ void normed_few_load(const T* frame, const int32_t (&rows)[4], int c, uint4 (&x)[4]) {
#pragma unroll
  for (int r = 0; r < 4; ++r) x[r] = rows[r] >= 0 ? __ldg(reinterpret_cast<const uint4*>(frame + rows[r] + c)) : make_uint4(0, 0, 0, 0);
}

/** Normalises and activates them; zeros of the padding stay. */
template <class T>
__device__ __forceinline__ void normed_few_apply(const NormedFewParams& p, const float2* affine, const int32_t (&rows)[4], uint4 (&x)[4]) {
  float2 a[8];
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const float4 two = *reinterpret_cast<const float4*>(affine + i);
    a[i] = make_float2(two.x, two.y);
    a[i + 1] = make_float2(two.z, two.w);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    float v[8];
    unpack8<T>(x[r], v);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], a[i].x, a[i].y);
    if (p.norm.silu) NormHalvedSilu{}(v);
    x[r] = rows[r] >= 0 ? pack8<T>(v) : make_uint4(0, 0, 0, 0);
  }
}

/** Adds 32 channels. A lane's eight are its elements of two fragments, four of each: the order of the sum over channels is free. */
template <class T, int kTiles>
__device__ __forceinline__ void normed_few_multiply(float (&acc)[2][kTiles][4], const uint4 (&x)[4], const uint8_t* filters, int pitch) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const uint4 b = *reinterpret_cast<const uint4*>(filters + n * 8 * pitch);
    const uint32_t first[2] = {b.x, b.y}, second[2] = {b.z, b.w};
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const uint4 &top = x[2 * m], &bottom = x[2 * m + 1];
      const uint32_t a0[4] = {top.x, bottom.x, top.y, bottom.y}, a1[4] = {top.z, bottom.z, top.w, bottom.w};
      ptx::mma_16816<T>(acc[m][n], a0, first);
      ptx::mma_16816<T>(acc[m][n], a1, second);
    }
  }
}

/** Products of a unit of pixels with all filters, to shared memory. */
template <class T, int kTiles>
__device__ __forceinline__ void normed_few_unit(const NormedFewParams& p, const NormedFewTile& tile, const NormedFewShared& s, int unit) {
  const int lane = threadIdx.x & 31;
  const T* frame = static_cast<const T*>(p.x) + static_cast<int64_t>(tile.frame) * (p.height * p.width * p.pitch);
  const uint8_t* filters = s.filters + lane / 4 * p.filterPitch + lane % 4 * 16;
  const float2* affine = s.affine + lane % 4 * 8;
  int32_t rows[4];
  normed_few_rows(p, tile, unit, rows);
  float acc[2][kTiles][4] = {};
  uint4 ahead[4];
  normed_few_load<T>(frame, rows, 0, ahead);
#pragma unroll 1
  for (int c = 0; c < p.channels; c += 32) {
    uint4 x[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) x[r] = ahead[r];
    if (c + 32 < p.channels) normed_few_load<T>(frame, rows, c + 32, ahead);
    normed_few_apply<T>(p, affine + c, rows, x);
    normed_few_multiply<T, kTiles>(acc, x, filters + c * 2, p.filterPitch);
  }
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int pixel = unit * kNormedFewUnit + m * 16 + lane / 4 + i / 2 * 8, column = n * 8 + lane % 4 * 2 + i % 2;
        if (pixel < kNormedFewPixels && column < p.products) s.products[pixel * p.productPitch + column] = acc[m][n][i];
      }
}

/** Results from the products of their neighbours. */
__device__ __forceinline__ void normed_few_store(const NormedFewParams& p, const NormedFewTile& tile, const NormedFewShared& s) {
#pragma unroll 1
  for (int i = threadIdx.x; i < kNormedFewH * kNormedFewW * p.columns; i += kNormedFewThreads) {
    const int k = i % p.columns, place = i / p.columns, row = place / kNormedFewW, column = place % kNormedFewW;
    const int h = tile.h + row, w = tile.w + column;
    if (h >= p.height || w >= p.width) continue;
    float sum = 0.0f;
#pragma unroll
    for (int tap = 0; tap < kNormedFewTaps; ++tap)
      sum += s.products[((row + tap / 3) * kNormedFewSourceW + column + tap % 3) * p.productPitch + tap * p.columns + k];
    const int64_t pixel = (static_cast<int64_t>(tile.frame) * p.height + h) * p.width + w;
    finish1(p.epilogue, sum, pixel, k, false);
  }
}

template <class T, int kTiles> __device__ __forceinline__ void group_norm_conv_narrow(const NormedFewParams& p) {
  extern __shared__ __align__(16) uint8_t shared[];
  NormedFewShared s;
  s.filters = shared;
  s.affine = reinterpret_cast<float2*>(shared + kTiles * 8 * p.filterPitch);
  s.products = reinterpret_cast<float*>(s.affine + p.channels);
  const NormedFewTile tile = normed_few_tile(p);
  normed_few_filters<T, kTiles>(p, s);
  normed_few_affine(p, tile.frame, s);
  __syncthreads();
  const int warp = threadIdx.x / 32;
  normed_few_unit<T, kTiles>(p, tile, s, warp);
  normed_few_unit<T, kTiles>(p, tile, s, warp + kNormedFewWarps);
  __syncthreads();
  normed_few_store(p, tile, s);
}

}  // namespace vd::device
