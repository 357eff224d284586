// Tiles of attention on mma.sync: 16-bit rows in shared memory, a warp's 16 rows of scores and of weighted sums in registers.
#pragma once
#include "kernel.cuh"
#include "ptx/mma.cuh"
#include "vec.cuh"

namespace vd::device {

/** Element type, head dim of scores (padded), output channels of a block, keys of a tile, warps. */
template <class T_, int kDim_, int kKeys_, int kWarps_> struct FlashConfig {
  using T = T_;
  static constexpr int kDim = kDim_, kKeys = kKeys_, kWarps = kWarps_;
  static constexpr int kOut = kDim > 256 ? 256 : kDim;  // wider heads take one block per 256 output channels
  static constexpr int kRows = 16 * kWarps, kThreads = 32 * kWarps;
  static constexpr int kPitch = kDim * 2 + 16, kPitchV = kOut * 2 + 16;  // odd numbers of 16 bytes: no bank conflicts
  static_assert(kDim % 16 == 0 && kKeys % 16 == 0, "products have depth 16");
};

/** Copies rows [row0, row0 + kCount) of channels [c0, c0 + kWidth) to shared memory, zeros outside. */
template <class Config, int kCount, int kWidth, class Params>
__device__ __forceinline__ void flash_load(const Params& p, uint32_t dst, const typename Config::T* base, int64_t stride, int row0,
                                           int rowEnd, int c0) {
  using T = typename Config::T;
  constexpr int kChunks = kWidth / 8, kPitch = kWidth * 2 + 16;
  for (int i = threadIdx.x; i < kCount * kChunks; i += Config::kThreads) {
    const int row = i / kChunks, chunk = i % kChunks, c = c0 + chunk * 8;
    const bool inside = row0 + row < rowEnd && c < p.dim;
    const T* source = base + (row0 + row) * stride + c;
    const uint32_t at = dst + row * kPitch + chunk * 16;
    if (p.vector) {
      ptx::copy16(at, inside ? source : base, inside);
    } else {
      float v[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = inside && c + j < p.dim ? to_float(source[j]) : 0.0f;
      ptx::store_shared16(at, pack8<T>(v));
    }
  }
}

/** scores[16 rows, kKeys] of this warp. */
template <class Config> __device__ __forceinline__ void flash_scores(float (&scores)[Config::kKeys / 8][4], uint32_t q, uint32_t k) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int n = 0; n < Config::kKeys / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = 0.0f;
#pragma unroll(Config::kDim > 128 ? 2 : 8)
  for (int step = 0; step < Config::kDim / 16; ++step) {
    uint32_t a[4];
    ptx::ldmatrix_x4(a, q + (lane & 15) * Config::kPitch + step * 32 + (lane >> 4) * 16);
#pragma unroll
    for (int pair = 0; pair < Config::kKeys / 16; ++pair) {
      uint32_t r[4];
      ptx::ldmatrix_x4(r, k + (pair * 16 + (lane & 7) + (lane >> 4) * 8) * Config::kPitch + step * 32 + (lane >> 3 & 1) * 16);
      const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
      ptx::mma_16816<typename Config::T>(scores[2 * pair], a, b0);
      ptx::mma_16816<typename Config::T>(scores[2 * pair + 1], a, b1);
    }
  }
}

/** out[16 rows, kOut] += P · V. */
template <class Config>
__device__ __forceinline__ void flash_values(float (&out)[Config::kOut / 8][4], const float (&scores)[Config::kKeys / 8][4], uint32_t v) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int step = 0; step < Config::kKeys / 16; ++step) {
    const float* s0 = scores[2 * step];
    const float* s1 = scores[2 * step + 1];
    const uint32_t a[4] = {pack2<T>(s0[0], s0[1]), pack2<T>(s0[2], s0[3]), pack2<T>(s1[0], s1[1]), pack2<T>(s1[2], s1[3])};
#pragma unroll
    for (int pair = 0; pair < Config::kOut / 16; ++pair) {
      uint32_t r[4];
      ptx::ldmatrix_x4_transposed(r, v + (step * 16 + (lane & 15)) * Config::kPitchV + pair * 32 + (lane >> 4) * 16);
      const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
      ptx::mma_16816<T>(out[2 * pair], a, b0);
      ptx::mma_16816<T>(out[2 * pair + 1], a, b1);
    }
  }
}

}  // namespace vd::device
