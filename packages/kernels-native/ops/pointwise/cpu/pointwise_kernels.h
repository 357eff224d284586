// The inner loop of pointwise, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"
#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct PointwiseKernels {
  /** y = act(aScale · a + bScale · b · c + frameBias) for `n` elements; b, c, frameBias may be null. */
  void (*combine)(float* y, const float* a, const float* b, const float* c, const float* frameBias, int64_t n,
                    float aScale, float bScale, Activation act);
};

VD_DECLARE_KERNEL_TABLE(PointwiseKernels, pointwise_kernels)

}  // namespace vd::cpu
