// The inner loop of depthwise convolutions, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** A pixel of the input under a tap, and the tap's filter values in the same channels. */
struct DepthwiseTap {
  const float* pixel;
  const float* weights;
};

/** The kernel of an instruction set. */
struct DepthwiseKernels {
  /** sums [channels rounded up to vectors]: products of the taps added up in order. Weights are padded to whole vectors. */
  void (*sum_taps)(const DepthwiseTap* taps, int64_t numTaps, int64_t channels, float* sums);
};

VD_DECLARE_KERNEL_TABLE(DepthwiseKernels, depthwise_kernels)

}  // namespace vd::cpu
