// The inner loops of ops that move elements between channels and places, once per instruction set.
#pragma once
#include <cstdint>

#include "kernel_table.h"

namespace vd::cpu {

/** Most places that a block has along each of the three axes together: 16 a side. */
inline constexpr int kMaxWoven = 16 * 16 * 16;

/** The inner loops of an instruction set. No operand may overlap another. */
struct WeaveKernels {
  /** woven[c · numRows + r] = rows[r][c] for c < count. */
  void (*weave)(float* woven, const float* const* rows, int64_t numRows, int64_t count);
  /** rows[r][c] = woven[c · numRows + r] for c < count. */
  void (*unweave)(float* const* rows, const float* woven, int64_t numRows, int64_t count);
};

VD_DECLARE_KERNEL_TABLE(WeaveKernels, weave_kernels)

}  // namespace vd::cpu
