// Winograd's transforms, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** The transforms of an instruction set. */
struct WinogradKernels {
  /** out [16, pointPitch]: the transform of a tile's 4 x 4 pixels, given by their channels; whole vectors are written. */
  void (*input)(const float* const* pixels, int64_t channels, float* out, int64_t pointPitch);
  /** out [4, outPitch]: the 2 x 2 outputs of a tile from its sixteen products [16, pointPitch]; whole vectors. False if one
   *  may not be finite. */
  bool (*output)(const float* points, int64_t pointPitch, int64_t cols, float* out, int64_t outPitch);
};

VD_DECLARE_KERNEL_TABLE(WinogradKernels, winograd_kernels)

}  // namespace vd::cpu
