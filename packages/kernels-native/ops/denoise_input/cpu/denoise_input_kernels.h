// The inner loop of denoise_input, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** Pixels of which some channels become channels of the result. */
struct ChannelsIn {
  float* y;
  int64_t yPitch;
  const float* x;  // null for zeros
  int64_t xPitch;
  int64_t width, channels;
  float scale;
};

/** The inner loop of an instruction set. */
struct DenoiseInputKernels {
  /** y[w · yPitch + c] = scale · x[w · xPitch + c] for all pixels and channels. */
  void (*channels)(const ChannelsIn& in);
};

VD_DECLARE_KERNEL_TABLE(DenoiseInputKernels, denoise_input_kernels)

}  // namespace vd::cpu
