// The inner loop of norms whose factors are those of channels, once per instruction set.
#pragma once
#include "../generated/op_args.h"
#include "kernel_table.h"
#include "norm_rows.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct ScaleChannels {
  /** y = act((x - center[c]) * scale[c] + offset[c]). */
  void (*rows)(const NormRows& rows, const float* center, const float* scale, const float* offset, Activation act);
};

VD_DECLARE_KERNEL_TABLE(ScaleChannels, scale_channels)

}  // namespace vd::cpu
