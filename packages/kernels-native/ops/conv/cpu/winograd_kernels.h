// Winograd's transforms, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"

namespace vd::cpu {

/** Side of the largest tile of outputs, and of the inputs that it is made of. */
inline constexpr int kMaxWinogradOutputs = 4, kMaxWinogradPoints = kMaxWinogradOutputs + 2;

/** Points of F(4x4, 3x3) beside 0 and infinity: ±5/8 and ±3/2, which floats hold. */
inline constexpr double kWinogradNear = 0.625, kWinogradFar = 1.5;

/** The transforms of tiles of m x m outputs and n x n inputs, n = m + 2. */
struct WinogradTransforms {
  /** out [n², pointPitch]: the transform of a tile's n x n pixels, given by their channels; whole vectors are written. */
  void (*input)(const float* const* pixels, int64_t channels, float* out, int64_t pointPitch);
  /** out [m², outPitch]: the m x m outputs of a tile from its n² products [n², pointPitch]; whole vectors. False if one may not be
   *  finite. */
  bool (*output)(const float* points, int64_t pointPitch, int64_t cols, float* out, int64_t outPitch);
};

/** A sum of three lines of numbers, `step` apart, times taps. */
struct WinogradLines {
  const double* taps;
  const double* first;
  int64_t step, count;
};

/** The transforms of an instruction set. */
struct WinogradKernels {
  WinogradTransforms two, four;
  /** Of filters: out = the sum of lines, as it is or rounded. */
  void (*addLines)(const WinogradLines& lines, double* out);
  void (*addLinesRounded)(const WinogradLines& lines, float* out);
};

VD_DECLARE_KERNEL_TABLE(WinogradKernels, winograd_kernels)

}  // namespace vd::cpu
