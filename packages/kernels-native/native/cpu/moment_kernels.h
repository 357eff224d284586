// Sums behind the statistics of norms, once per instruction set.
#pragma once
#include "kernel_table.h"
#include "norm_rows.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct MomentKernels {
  /** sums[c] = Σ x and squares[c] = Σ x² over the pixels, in double. */
  void (*channel_sums)(const NormRows& rows, double* sums, double* squares);
};

VD_DECLARE_KERNEL_TABLE(MomentKernels, moment_kernels)

}  // namespace vd::cpu
