// The inner loop of elementwise, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"
#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** Operands of a run of elements: a number for each of them, or one for all. Absent ones are null. */
struct ElementwiseRun {
  const float* operands[4];
  bool one[4];
  float* y;
  int64_t count;
};

/** The inner loop of an instruction set. */
struct ElementwiseKernels {
  /** y = the program's result for each element. code: a valid program that `end` follows if it is not of the full length;
   *  constants: k0 to k3. */
  void (*evaluate)(const ElementwiseRun& run, const Instruction* code, int length, const float* constants);
};

VD_DECLARE_KERNEL_TABLE(ElementwiseKernels, elementwise_kernels)

}  // namespace vd::cpu
