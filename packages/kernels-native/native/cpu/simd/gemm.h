// The register-blocked matrix kernel.
//
// A tile is kTileRows rows by 1..kMaxVecs vectors of columns, all sums in registers. Per k: one load per column vector,
// one broadcast per row, rows x vecs multiply-adds. Rows are pointers, so convolutions read their pixels where they lie
// and padding is a pointer to zeros. A tile of one vector keeps two sums per row, for even and odd k, since six chains
// of additions are fewer than the units' latency asks for.
//
// Log: 3x3 convolutions of 64 to 256 channels run at 72 to 83 % of the measured peak with 6 x 4 vectors of AVX-512 and at
// 76 to 87 % with 6 x 2 of AVX2. Weights kept as f16 are widened on the way: 5 to 13 % slower while they fit a cache,
// but 277 ms instead of 484 for 1280 -> 1280 channels at 18 x 32 (see panel_type).
#pragma once
#include "../kernels.h"
#include "isa.h"

namespace vd::cpu::VD_ISA {

template <DType TYPE>
static inline Vec load_weights(const std::byte* p) {
  if constexpr (TYPE == DType::f16) return Vec::load_f16(p);
  if constexpr (TYPE == DType::bf16) return Vec::load_bf16(p);
  return Vec::load(reinterpret_cast<const float*>(p));
}

template <DType TYPE, int VECS>
static inline __attribute__((always_inline)) void add_step(const float (&values)[kTileRows], const std::byte* panel,
                                                           Vec (&sums)[kTileRows][VECS]) {
  Vec columns[VECS];
#pragma GCC unroll 4
  for (int c = 0; c < VECS; ++c) columns[c] = load_weights<TYPE>(panel + c * Vec::kWidth * bytes_of(TYPE));
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
    const Vec value = Vec::all(values[r]);
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) sums[r][c] = Vec::fma(value, columns[c], sums[r][c]);
  }
}

template <DType TYPE, int VECS>
static void gemm_tile_of(const GemmTile& tile) {
  constexpr int64_t kStepBytes = VECS * Vec::kWidth * bytes_of(TYPE);
  Vec sums[kTileRows][VECS], odd[kTileRows][VECS];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) sums[r][c] = odd[r][c] = Vec::zero();
  }
  for (int64_t s = 0; s < tile.numSegments; ++s) {
    const GemmSegment& segment = tile.segments[s];
    const std::byte* panel = tile.panel + segment.panelRow * kStepBytes;
    const float* const row0 = segment.rows[0];
    const float* const row1 = segment.rows[1];
    const float* const row2 = segment.rows[2];
    const float* const row3 = segment.rows[3];
    const float* const row4 = segment.rows[4];
    const float* const row5 = segment.rows[5];
    const int64_t count = segment.k;
    int64_t k = 0;
    if constexpr (VECS == 1) {
      for (; k + 2 <= count; k += 2, panel += 2 * kStepBytes) {
        add_step<TYPE, VECS>({row0[k], row1[k], row2[k], row3[k], row4[k], row5[k]}, panel, sums);
        add_step<TYPE, VECS>({row0[k + 1], row1[k + 1], row2[k + 1], row3[k + 1], row4[k + 1], row5[k + 1]},
                             panel + kStepBytes, odd);
      }
    }
    for (; k < count; ++k, panel += kStepBytes) {
      add_step<TYPE, VECS>({row0[k], row1[k], row2[k], row3[k], row4[k], row5[k]}, panel, sums);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) {
      const Vec sum = VECS == 1 ? sums[r][c] + odd[r][c] : sums[r][c];
      sum.store(tile.sums + r * tile.sumsPitch + c * Vec::kWidth);
    }
  }
}

template <DType TYPE>
static void gemm_tile_typed(const GemmTile& tile) {
  if (tile.vecs == 1) return gemm_tile_of<TYPE, 1>(tile);
  if (tile.vecs == 2) return gemm_tile_of<TYPE, 2>(tile);
  if constexpr (Vec::kMaxVecs == 4) {
    if (tile.vecs == 3) return gemm_tile_of<TYPE, 3>(tile);
    return gemm_tile_of<TYPE, 4>(tile);
  }
}

static void gemm_tile(const GemmTile& tile) {
  if (tile.panelType == DType::f16) return gemm_tile_typed<DType::f16>(tile);
  if (tile.panelType == DType::bf16) return gemm_tile_typed<DType::bf16>(tile);
  gemm_tile_typed<DType::f32>(tile);
}

}  // namespace vd::cpu::VD_ISA
