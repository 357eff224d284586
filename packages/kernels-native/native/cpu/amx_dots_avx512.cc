// The AMX engine's products on vectors: of pairs of bf16 with VDPBF16PS, or with fused multiply-adds where that is missing.
#include <cstring>

#include "amx_kernels.h"
#include "simd/isa.h"

namespace vd::cpu::amx {
namespace {

/** Rows whose sums are in registers at once: with two column tiles sixteen vectors. */
constexpr int kRows = 8;

/** sums + products of 16 pairs of bf16. */
template <bool DOTS> inline __attribute__((always_inline)) __m512 add_pairs(__m512 sums, __m512i rows, __m512i cols) {
  if constexpr (DOTS) {
    // Not the compiler's function: that wants the whole file compiled for AVX512_BF16.
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(rows), "v"(cols));
    return sums;
  } else {
    const __m512i odd = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const auto high = [odd](__m512i pairs) { return _mm512_castsi512_ps(_mm512_and_si512(pairs, odd)); };
    const auto low = [](__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); };
    return _mm512_fmadd_ps(high(rows), high(cols), _mm512_fmadd_ps(low(rows), low(cols), sums));
  }
}

inline __attribute__((always_inline)) __m512i pair_of(const std::byte* at) {
  int pair;
  std::memcpy(&pair, at, sizeof pair);
  return _mm512_set1_epi32(pair);
}

/** sums [kRows, 16 * COLS] of the rows from `rows` on. CHAINS: sums each step by itself before it is added, as tiles do, for products whose
 *  rounding must not be seen. */
template <bool DOTS, bool CHAINS, int COLS> void multiply_rows(const Block& b, const std::byte* rows, float* out) {
  __m512 sums[kRows][COLS];
  for (auto& row : sums)
    for (auto& sum : row) sum = _mm512_setzero_ps();
  __m512 totals[kRows][COLS];
  if constexpr (CHAINS) std::memcpy(totals, sums, sizeof sums);
  for (int64_t s = 0; s < b.numSteps; ++s) {
    for (int i = 0; i < b.parts; ++i) {
      const std::byte* row = rows + b.steps[s].rowOffset + i * b.partBytes;
      for (int j = 0; j < b.weightParts && i + j < b.parts; ++j) {
        const std::byte* col = b.panel + b.steps[s].panelOffset + j * COLS * kTileBytes;
        for (int64_t pair = 0; pair < kSide; ++pair) {
          __m512i cols[COLS];
          for (int c = 0; c < COLS; ++c) cols[c] = _mm512_loadu_si512(col + c * kTileBytes + pair * kStepBytes);
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) {
            const __m512i values = pair_of(row + r * b.rowBytes + pair * 4);
            for (int c = 0; c < COLS; ++c) sums[r][c] = add_pairs<DOTS>(sums[r][c], values, cols[c]);
          }
        }
      }
    }
    if constexpr (CHAINS) {
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < COLS; ++c) {
          totals[r][c] = _mm512_add_ps(totals[r][c], sums[r][c]);
          sums[r][c] = _mm512_setzero_ps();
        }
    }
  }
  if constexpr (CHAINS) std::memcpy(sums, totals, sizeof sums);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < COLS; ++c) _mm512_storeu_ps(out + r * b.sumsPitch + c * kSide, sums[r][c]);
}

template <bool DOTS, bool CHAINS> void multiply_rows_of(const Block& block) {
  for (int unit = 0; unit < 2 && block.rows[unit] != nullptr; ++unit) {
    for (int row = 0; row < kSide; row += kRows) {
      const std::byte* rows = block.rows[unit] + row * block.rowBytes;
      float* sums = block.sums + (unit * kSide + row) * block.sumsPitch;
      if (block.colTiles == 2) multiply_rows<DOTS, CHAINS, 2>(block, rows, sums);
      else multiply_rows<DOTS, CHAINS, 1>(block, rows, sums);
    }
  }
}

template <bool DOTS> void multiply(const Block& block, Aside& aside) {
  // First, since it may read the sums that are written here. The same units do both: nothing waits for the other.
  for (; aside.left > 0; --aside.left) aside.piece(aside.state);
  if (block.parts == 1) return multiply_rows_of<DOTS, false>(block);
  multiply_rows_of<DOTS, true>(block);
}

void nothing() {}

}  // namespace

const Tiles kDotTiles = {nothing, nothing, multiply<true>};
const Tiles kPlainTiles = {nothing, nothing, multiply<false>};

}  // namespace vd::cpu::amx
