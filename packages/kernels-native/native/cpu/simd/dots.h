// The matrix kernel for few columns, as of a convolution to the three channels of a picture: vectors run over k, where those of
// gemm.h run over columns and would be empty for the most part. Figures: ops/conv/cpu/conv_simd.cc.
#pragma once
#include "../kernels.h"
#include "load.h"

namespace vd::cpu::VD_ISA {

/** Columns whose sums fit the registers beside their operands. */
static constexpr int kDotCols = Vec::kMaxVecs == 4 ? 4 : 2;

template <int COLS>
static inline __attribute__((always_inline)) void add_dots(const GemmSegment& segment, const float* columns, int64_t pitch,
                                                           Vec (&sums)[kTileRows][COLS]) {
  for (int64_t k = 0; k < segment.k; k += Vec::kWidth) {
    const int64_t n = segment.k - k;
    Vec weights[COLS];
#pragma GCC unroll 4
    for (int c = 0; c < COLS; ++c) weights[c] = load_n(columns + c * pitch + segment.panelRow + k, n);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const Vec values = load_n(segment.rows[r] + k, n);
#pragma GCC unroll 4
      for (int c = 0; c < COLS; ++c) sums[r][c] = Vec::fma(values, weights[c], sums[r][c]);
    }
  }
}

template <int COLS> static void dot_cols(const DotTile& tile, int first) {
  Vec sums[kTileRows][COLS];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < COLS; ++c) sums[r][c] = Vec::zero();
  }
  for (int64_t s = 0; s < tile.numSegments; ++s) add_dots<COLS>(tile.segments[s], tile.columns + first * tile.k, tile.k, sums);
  for (int r = 0; r < kTileRows; ++r) {
    for (int c = 0; c < COLS; ++c) tile.sums[r * tile.sumsPitch + first + c] = sums[r][c].sum();
  }
}

static void dot_tile(const DotTile& tile) {
  int c = 0;
  if constexpr (kDotCols == 4) {
    for (; c + 4 <= tile.cols; c += 4) dot_cols<4>(tile, c);
    if (tile.cols - c == 3) return dot_cols<3>(tile, c);
  }
  for (; c + 2 <= tile.cols; c += 2) dot_cols<2>(tile, c);
  if (c < tile.cols) dot_cols<1>(tile, c);
}

}  // namespace vd::cpu::VD_ISA
