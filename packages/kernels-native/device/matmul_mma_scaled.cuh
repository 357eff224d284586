// The portable matrix core on 8-bit operands: mma.sync of integers from sm_75, of float8 from sm_89, and plain float32.
//
// Float8 sums are promoted to float32 after each stage of 64 channels; with scales for each block of 128 channels, sums of integers
// are as well, times those scales. Other scales are applied once.
#pragma once
#include "matmul_mma.cuh"
#include "matmul_scales.cuh"

namespace vd::device {

/** Turns codes into numbers one by one. kClip: rows may be a phase of y. */
template <bool kClip> struct ElementScales {
  const MatmulScales& scales;
  const Epilogue& epilogue;
  __device__ __forceinline__ float pixel(const MatmulMmaParams& p, int row, int k, float v) const {
    return row < p.rows && k < p.depth ? v * pixel_scale(scales, epilogue, output_pixel<kClip>(p, row))[k / 128 * scales.xBlockStride]
                                       : 0.0f;
  }
  __device__ __forceinline__ float weight(int row, int k, float v) const {
    return v * scales.weight[row * scales.weightStride + k / 128 * scales.weightBlockStride];
  }
};

template <class Q, bool kSwiglu, bool kClip> __device__ __forceinline__ void scaled_plain(const ScaledMmaParams& p) {
  matmul_plain<Q, kSwiglu, kClip>(p.matmul, ElementScales<kClip>{p.scales, p.matmul.epilogue});
}

/** acc = sums · scales of block `block`, added to what is there if kAdd. */
template <class Config, bool kAdd, class Sum>
__device__ __forceinline__ void scale_sums(const ScaledMmaParams& p, const WarpTile& tile, const Sum (&sums)[Config::kRowBlocks][4][4],
                                           int block, float (&acc)[Config::kRowBlocks][4][4]) {
  const int lane = threadIdx.x & 31;
  float2 column[4];
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const int col = tile.col + 8 * n + 2 * (lane & 3), row = weight_row(p.matmul, min(col, p.matmul.columns - 1));
    const int end = p.matmul.gated ? (row < p.matmul.columns / 2 ? p.matmul.columns / 2 : p.matmul.columns) : p.matmul.columns;
    column[n] = weight_scales(p.scales, row, end, block);
  }
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int productRow = tile.row + 16 * m + lane / 4 + 8 * part;
      const int64_t pixel = output_pixel<Config::kClip>(p.matmul, min(productRow, p.matmul.rows - 1));
      const float row = __ldg(pixel_scale(p.scales, p.matmul.epilogue, pixel) + block * p.scales.xBlockStride);
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& to = acc[m][n][2 * part + i];
          to = fmaf(static_cast<float>(sums[m][n][2 * part + i]), row * (i ? column[n].y : column[n].x), kAdd ? to : 0.0f);
        }
    }
}

/** Tiles of operands of type Q whose channels can be moved 16 at a time. */
template <class Q, int kTileM, int kTileN, bool kSwiglu, bool kClip, bool kBlocked>
__device__ __forceinline__ void scaled_mma(const ScaledMmaParams& p) {
  using Config = MmaConfig<Q, kTileM, kTileN, true, kSwiglu, kClip>;
  constexpr bool kInt8 = std::is_same_v<Q, int8_t>;
  using Product = std::conditional_t<kInt8, int32_t, float>;
  using Sum = std::conditional_t<kInt8 && !kBlocked, int32_t, float>;
  using Sums = Sum[Config::kRowBlocks][4][4];
  const auto multiply = [&](Sums& acc, uint32_t a, uint32_t b, const WarpTile& tile, int step) {
    if constexpr (std::is_same_v<Sum, int32_t>) {
      mma_stage<Config>(acc, a, b, tile.m, tile.n);
    } else {
      Product part[Config::kRowBlocks][4][4] = {};
      mma_stage<Config>(part, a, b, tile.m, tile.n);
      if constexpr (kBlocked) {
        scale_sums<Config, true>(p, tile, part, step * Config::kDepth / 128, acc);
      } else {
#pragma unroll
        for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
          for (int n = 0; n < 4; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) acc[m][n][i] += part[m][n][i];
      }
    }
  };
  const auto finish = [&](Sums& acc, const WarpTile& tile, auto store) {
    if constexpr (kBlocked) {
      store(acc);
    } else {
      float scaled[Config::kRowBlocks][4][4];
      scale_sums<Config, false>(p, tile, acc, 0, scaled);
      store(scaled);
    }
  };
  matmul_tile<Config, Sum>(p.matmul, multiply, finish);
}

}  // namespace vd::device

/** Tiles of operands of an 8-bit type. */
#define VD_SCALED_TILE(op, swiglu, clip, type, name, tileM, tileN, threads, minBlocks) \
  VD_KERNEL(op##_mma_##name##_m##tileM##n##tileN, ScaledMmaParams, threads, minBlocks, scaled_mma<type, tileM, tileN, swiglu, clip, false>)

/** The same, and with scales for each block. */
#define VD_SCALED_MMA(op, swiglu, type, name, tileM, tileN, threads, minBlocks)                 \
  VD_SCALED_TILE(op, swiglu, false, type, name, tileM, tileN, threads, minBlocks)               \
  VD_KERNEL(op##_mma_##name##_m##tileM##n##tileN##_blocks, ScaledMmaParams, threads, minBlocks, \
            scaled_mma<type, tileM, tileN, swiglu, false, true>)

/** What tensor cores multiply in float8. */
#if __CUDA_ARCH__ >= 890 || !defined(__CUDA_ARCH__)
#define VD_SCALED_FLOAT8(op, swiglu)                                 \
  VD_SCALED_MMA(op, swiglu, __nv_fp8_e4m3, f8e4m3, 128, 128, 256, 1) \
  VD_SCALED_MMA(op, swiglu, __nv_fp8_e4m3, f8e4m3, 64, 64, 128, 2)
#define VD_SCALED_FLOAT8_PHASES(op)                                        \
  VD_SCALED_TILE(op, false, true, __nv_fp8_e4m3, f8e4m3, 128, 128, 256, 1) \
  VD_SCALED_TILE(op, false, true, __nv_fp8_e4m3, f8e4m3, 64, 64, 128, 2)
#else
#define VD_SCALED_FLOAT8(op, swiglu)
#define VD_SCALED_FLOAT8_PHASES(op)
#endif

#define VD_SCALED_PLAIN(op, swiglu, clip)                                               \
  VD_KERNEL(op##_plain_i8, ScaledMmaParams, 256, 2, scaled_plain<int8_t, swiglu, clip>) \
  VD_KERNEL(op##_plain_f8e4m3, ScaledMmaParams, 256, 2, scaled_plain<__nv_fp8_e4m3, swiglu, clip>)

/** Every product of `op` on the portable cores; swiglu: whether a gated activation is that, not geglu. */
#define VD_SCALED_PRODUCTS(op, swiglu)                    \
  VD_SCALED_MMA(op, swiglu, int8_t, i8, 128, 128, 256, 1) \
  VD_SCALED_MMA(op, swiglu, int8_t, i8, 64, 64, 128, 2)   \
  VD_SCALED_FLOAT8(op, swiglu)                            \
  VD_SCALED_PLAIN(op, swiglu, false)

/** The same whose results are one phase of a transposed convolution. */
#define VD_SCALED_PHASES(op)                                    \
  VD_SCALED_TILE(op, false, true, int8_t, i8, 128, 128, 256, 1) \
  VD_SCALED_TILE(op, false, true, int8_t, i8, 64, 64, 128, 2)   \
  VD_SCALED_FLOAT8_PHASES(op)                                   \
  VD_SCALED_PLAIN(op, false, true)
