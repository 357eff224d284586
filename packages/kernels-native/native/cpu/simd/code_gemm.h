// The register-blocked matrix kernel of 8-bit codes, as gemm.h is that of floats: kTileRows rows by 1..kMaxVecs vectors of columns, all
// sums in registers; per group one load for each vector of columns and one broadcast for each row. `Dots` says what a group of products is:
//   Row all(p)              4 bytes of a row in every lane
//   Col load(p)             a group of a vector of columns
//   Sum add(sum, row, col)  the sum and their products
//   Sum offset(sum, p)      the sum and what a segment begins with, if kHasOffset
//   Vec floats(sum)
#pragma once
#include "../code_tiles.h"
#include "isa.h"

namespace vd::cpu::VD_ISA {

template <class Dots, int VECS>
static inline __attribute__((always_inline)) void add_group(const CodeSegment& segment, int64_t at, const std::byte* panel,
                                                            typename Dots::Sum (&sums)[kTileRows][VECS]) {
  typename Dots::Col columns[VECS];
#pragma GCC unroll 4
  for (int c = 0; c < VECS; ++c) columns[c] = Dots::load(panel + c * Vec::kWidth * Dots::kColBytes);
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
    const auto row = Dots::all(segment.rows[r] + at);
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) sums[r][c] = Dots::add(sums[r][c], row, columns[c]);
  }
}

template <class Dots, int VECS> static void code_tile_of(const CodeTile& tile) {
  constexpr int64_t kStep = VECS * Vec::kWidth * Dots::kColBytes;
  // A tile of one vector keeps two sums for each row, for even and odd groups: six chains are fewer than the latency asks for.
  constexpr int kChains = VECS == 1 ? 2 : 1;
  typename Dots::Sum sums[kChains][kTileRows][VECS];
#pragma GCC unroll 2
  for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < VECS; ++c) sums[chain][r][c] = Dots::zero();
    }
  }
  for (int64_t s = 0; s < tile.numSegments; ++s) {
    const CodeSegment segment = tile.segments[s];
    const std::byte* panel = tile.panel + segment.panelGroup * kStep;
    if constexpr (Dots::kHasOffset) {
#pragma GCC unroll 8
      for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < VECS; ++c) sums[0][r][c] = Dots::offset(sums[0][r][c], panel + c * Vec::kWidth * Dots::kColBytes);
      }
      panel += kStep;
    }
    int64_t at = 0;
    const int64_t end = 4 * segment.groups;
    if constexpr (kChains == 2) {
      for (; at + 8 <= end; at += 8, panel += 2 * kStep) {
        add_group<Dots, VECS>(segment, at, panel, sums[0]);
        add_group<Dots, VECS>(segment, at + 4, panel + kStep, sums[1]);
      }
    }
    for (; at < end; at += 4, panel += kStep) add_group<Dots, VECS>(segment, at, panel, sums[0]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) {
      Vec sum = Dots::floats(sums[0][r][c]);
      if constexpr (kChains == 2) sum = Dots::floats(Dots::join(sums[0][r][c], sums[1][r][c]));
      float* out = tile.sums + r * tile.sumsPitch + c * Vec::kWidth;
      const Vec scaled = sum * (Vec::all(tile.rowScales[r]) * Vec::load(tile.colScales + c * Vec::kWidth));
      (tile.adds ? Vec::load(out) + scaled : scaled).store(out);
    }
  }
}

template <class Dots> static void code_tile(const CodeTile& tile) {
  if (tile.vecs == 1) return code_tile_of<Dots, 1>(tile);
  if (tile.vecs == 2) return code_tile_of<Dots, 2>(tile);
  if constexpr (Dots::kMaxVecs == 4) {
    if (tile.vecs == 3) return code_tile_of<Dots, 3>(tile);
    return code_tile_of<Dots, 4>(tile);
  }
}

}  // namespace vd::cpu::VD_ISA
