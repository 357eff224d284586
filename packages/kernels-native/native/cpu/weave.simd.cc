// Rows woven into one and taken apart again. Of numbers of rows that models have the compiler knows the pattern, and weaves vectors.
#include "weave.h"

#include "simd/isa.h"

namespace vd::cpu::VD_ISA {

template <int ROWS> static void weave_of(float* __restrict woven, const float* const* rows, int64_t count) {
  const float* row[ROWS];
  for (int r = 0; r < ROWS; ++r) row[r] = rows[r];
  for (int64_t c = 0; c < count; ++c)
    for (int r = 0; r < ROWS; ++r) woven[c * ROWS + r] = row[r][c];
}

static void weave(float* __restrict woven, const float* const* rows, int64_t numRows, int64_t count) {
  if (numRows == 2) return weave_of<2>(woven, rows, count);
  if (numRows == 4) return weave_of<4>(woven, rows, count);
  if (numRows == 8) return weave_of<8>(woven, rows, count);
  for (int64_t r = 0; r < numRows; ++r) {
    const float* row = rows[r];
    for (int64_t c = 0; c < count; ++c) woven[c * numRows + r] = row[c];
  }
}

static void unweave(float* const* rows, const float* __restrict woven, int64_t numRows, int64_t count) {
  // Row by row: a loop that writes them all at once the compiler leaves scalar, since they might overlap.
  for (int64_t r = 0; r < numRows; ++r) {
    float* __restrict row = rows[r];
    if (numRows == 2) {
      for (int64_t c = 0; c < count; ++c) row[c] = woven[c * 2 + r];
    } else if (numRows == 4) {
      for (int64_t c = 0; c < count; ++c) row[c] = woven[c * 4 + r];
    } else if (numRows == 8) {
      for (int64_t c = 0; c < count; ++c) row[c] = woven[c * 8 + r];
    } else {
      for (int64_t c = 0; c < count; ++c) row[c] = woven[c * numRows + r];
    }
  }
}

const WeaveKernels weave_kernels = {.weave = weave, .unweave = unweave};

}  // namespace vd::cpu::VD_ISA
