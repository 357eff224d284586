// A tile's products and its epilogue in one: the last chain's sums go to y from the registers that they are in.
//
// Log: linear layers of 7168 rows of 64 channels, two cores of a Zen 5, bests of 96 runs, by way of memory and from registers:
//   to 64   147 us, 129; with a residual 246, 207        to 192   403 us, 373        to 256 with gates   1104 us, 1103
// What lost there: 16-deep chains of Winograd's products in registers, two columns of vectors at a time (141.7 and 140.6 ms of a decode).
#pragma once
#include "epilogue.h"
#include "gemm.h"

namespace vd::cpu::VD_ISA {

/** A whole tile of the widest panel. */
template <Activation ACT, bool PLAIN>
static void gemm_store_of(const GemmTile& tile, const Epilogue& e, const TileRows& rows, const TileCols& cols) {
  constexpr int kVecs = Vec::kMaxVecs, kOut = is_gated(ACT) ? kVecs / 2 : kVecs;
  TileSums<kVecs> tileSums;
  auto& sums = tileSums.sums;
  if (!sum_chains<DType::f32, kVecs>(tile, tileSums)) {
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kVecs; ++c) sums[r][c] = Vec::load(tile.sums + r * tile.sumsPitch + c * Vec::kWidth) + sums[r][c];
    }
  }
  const float* bias = e.bias ? e.bias + cols.packedCol : nullptr;
#pragma GCC unroll 4
  for (int c = 0; c < kOut; ++c) {
    const int64_t col = c * Vec::kWidth;
    const Vec biasHere = bias ? Vec::load(bias + col) : Vec::zero();
    const Vec gateBias = is_gated(ACT) && bias ? Vec::load(bias + col + kOut * Vec::kWidth) : Vec::zero();
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const float* frameBias = !PLAIN && e.frameBias ? e.frameBias + rows.frame[r] * e.frameBiasPitch + cols.outCol + col : nullptr;
      const Vec gate = is_gated(ACT) ? sums[r][(c + kOut) % kVecs] + gateBias : Vec::zero();
      const Vec value = activated<ACT, PLAIN>(e, sums[r][c] + biasHere, gate, frameBias, Vec::kWidth);
      finish<PLAIN>(e, value, rows.pixel[r], cols.outCol + col, Vec::kWidth);
    }
  }
}

/** gemm_tile and store_tile. Those tiles that large layers have most of are done in one: the others may take two steps. */
static void gemm_store(const GemmTile& tile, const Epilogue& e, const TileRows& rows, const TileCols& cols) {
  const int outCols = is_gated(e.act) ? cols.panelCols / 2 : cols.panelCols;
  const bool isWhole = rows.count == kTileRows && tile.vecs == Vec::kMaxVecs && cols.outCols == outCols;
  if (isWhole && tile.panelType == DType::f32) {
    const bool plain = is_plain(e);
    if (e.act == Activation::none && plain) return gemm_store_of<Activation::none, true>(tile, e, rows, cols);
    if (e.act == Activation::none) return gemm_store_of<Activation::none, false>(tile, e, rows, cols);
    if (e.act == Activation::geglu && plain) return gemm_store_of<Activation::geglu, true>(tile, e, rows, cols);
  }
  gemm_tile(tile);
  store_tile(e, tile.sums, tile.sumsPitch, rows, 0, rows.count, cols);
}

}  // namespace vd::cpu::VD_ISA
