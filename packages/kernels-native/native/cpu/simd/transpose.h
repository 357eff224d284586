// Rows as columns.
#pragma once
#include "load.h"

namespace vd::cpu::VD_ISA {

/** out[c, r] = in[r, c] for r < rows and c < cols; columns of out from `rows` up to a whole vector become 0. */
static void transpose(const float* in, int64_t inPitch, int64_t rows, int64_t cols, float* out, int64_t outPitch) {
  constexpr int kW = Vec::kWidth;
  for (int64_t r = 0; r < rows; r += kW) {
    for (int64_t c = 0; c < cols; c += kW) {
      // Rows and columns beyond the edge are zeros; only columns that exist are written.
      Vec block[kW];
      for (int i = 0; i < kW; ++i) block[i] = r + i < rows ? load_n(in + (r + i) * inPitch + c, cols - c) : Vec::zero();
      transpose_block(block);
      const int64_t count = cols - c < kW ? cols - c : kW;
      for (int64_t i = 0; i < count; ++i) block[i].store(out + (c + i) * outPitch + r);
    }
  }
}

}  // namespace vd::cpu::VD_ISA
