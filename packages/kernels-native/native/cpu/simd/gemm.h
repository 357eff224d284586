// The register-blocked matrix kernel.
//
// A tile is kTileRows rows by 1..kMaxVecs vectors of columns, all sums in registers. Per k: one load per column vector,
// one broadcast per row, rows x vecs multiply-adds. Rows are pointers, so convolutions read their pixels where they lie
// and padding is a pointer to zeros. A tile of one vector keeps two sums per row, for even and odd k, since six chains
// of additions are fewer than the units' latency asks for.
//
// Sums are pairwise in two levels: chains of products in registers, which then add up in memory. One chain over all
// k, as before, has an error that grows with its root: 1.5e-6 relative L2 against float64 for 27 taps of 320 channels.
//
// Log: 3x3 convolutions of 64 to 256 channels run at 72 to 83 % of the measured peak with 6 x 4 vectors of AVX-512 and at
// 76 to 87 % with 6 x 2 of AVX2. Weights kept as f16 are widened on the way: 5 to 13 % slower while they fit a cache,
// but 277 ms instead of 484 for 1280 -> 1280 channels at 18 x 32 (see panel_type).
#pragma once
#include "../kernels.h"
#include "isa.h"

namespace vd::cpu::VD_ISA {

template <DType TYPE> static inline Vec load_weights(const std::byte* p) {
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

template <int VECS> struct TileSums {
  Vec sums[kTileRows][VECS], odd[kTileRows][VECS];

  void clear() {
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < VECS; ++c) sums[r][c] = odd[r][c] = Vec::zero();
    }
  }

  /** Writes the sums, or adds them to what is there, and starts anew. */
  __attribute__((always_inline)) void finish(float* out, int64_t pitch, bool isFirst) {
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < VECS; ++c) {
        float* p = out + r * pitch + c * Vec::kWidth;
        const Vec sum = VECS == 1 ? sums[r][c] + odd[r][c] : sums[r][c];
        (isFirst ? sum : Vec::load(p) + sum).store(p);
      }
    }
    clear();
  }
};

/** Adds the products of `count` channels from channel `first` of a segment. */
template <DType TYPE, int VECS>
static inline __attribute__((always_inline)) void add_chain(const GemmSegment& segment, const std::byte* panels, int64_t first,
                                                            int64_t count, TileSums<VECS>& tile) {
  constexpr int64_t kStepBytes = VECS * Vec::kWidth * bytes_of(TYPE);
  const std::byte* panel = panels + (segment.panelRow + first) * kStepBytes;
  const float* const row0 = segment.rows[0] + first;
  const float* const row1 = segment.rows[1] + first;
  const float* const row2 = segment.rows[2] + first;
  const float* const row3 = segment.rows[3] + first;
  const float* const row4 = segment.rows[4] + first;
  const float* const row5 = segment.rows[5] + first;
  int64_t k = 0;
  if constexpr (VECS == 1) {
    for (; k + 2 <= count; k += 2, panel += 2 * kStepBytes) {
      add_step<TYPE, VECS>({row0[k], row1[k], row2[k], row3[k], row4[k], row5[k]}, panel, tile.sums);
      add_step<TYPE, VECS>({row0[k + 1], row1[k + 1], row2[k + 1], row3[k + 1], row4[k + 1], row5[k + 1]}, panel + kStepBytes, tile.odd);
    }
  }
  for (; k < count; ++k, panel += kStepBytes) {
    add_step<TYPE, VECS>({row0[k], row1[k], row2[k], row3[k], row4[k], row5[k]}, panel, tile.sums);
  }
}

/** Adds up a tile but for its last chain, which stays in `sums`. Returns whether it is the only one; others are in the tile's sums. */
template <DType TYPE, int VECS> static inline __attribute__((always_inline)) bool sum_chains(const GemmTile& tile, TileSums<VECS>& sums) {
  sums.clear();
  bool isFirst = true;
  int64_t chain = tile.numSegments > 0 ? tile.segments[0].panelRow / tile.chain : 0;
  for (int64_t s = 0; s < tile.numSegments; ++s) {
    const GemmSegment& segment = tile.segments[s];
    // Where chains end follows from the panel's rows alone: a segment that is left out, all zeros, changes no bit.
    if (segment.panelRow / tile.chain != chain) {
      sums.finish(tile.sums, tile.sumsPitch, isFirst);
      isFirst = false;
      chain = segment.panelRow / tile.chain;
    }
    for (int64_t first = 0; first < segment.k; first += tile.chain) {
      if (first > 0) {
        sums.finish(tile.sums, tile.sumsPitch, isFirst);
        isFirst = false;
      }
      add_chain<TYPE, VECS>(segment, tile.panel, first, first + tile.chain < segment.k ? tile.chain : segment.k - first, sums);
    }
  }
  return isFirst;
}

template <DType TYPE, int VECS> static void gemm_tile_of(const GemmTile& tile) {
  TileSums<VECS> sums;
  const bool isFirst = sum_chains<TYPE, VECS>(tile, sums);
  sums.finish(tile.sums, tile.sumsPitch, isFirst);
}

template <DType TYPE> static void gemm_tile_typed(const GemmTile& tile) {
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
