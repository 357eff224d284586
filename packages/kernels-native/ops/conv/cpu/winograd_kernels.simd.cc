// The transforms of Winograd's F(2x2, 3x3) (https://arxiv.org/abs/1509.09308, section 4.1), sixteen points of a tile by
// channels.
#include "winograd_kernels.h"

#include "../../../native/cpu/simd/load.h"

namespace vd::cpu::VD_ISA {

/** Bᵀ·d of four values: the rows of Bᵀ are (1,0,-1,0) (0,1,1,0) (0,-1,1,0) (0,1,0,-1). */
static inline void input_points(const Vec (&d)[4], Vec (&out)[4]) {
  out[0] = d[0] - d[2];
  out[1] = d[1] + d[2];
  out[2] = d[2] - d[1];
  out[3] = d[1] - d[3];
}

static void winograd_input(const float* const* pixels, int64_t channels, float* out, int64_t pointPitch) {
  for (int64_t c = 0; c < channels; c += Vec::kWidth) {
    Vec half[4][4];
    for (int row = 0; row < 4; ++row) {
      Vec d[4];
      for (int col = 0; col < 4; ++col) d[col] = load_n(pixels[4 * row + col] + c, channels - c);
      input_points(d, half[row]);
    }
    for (int col = 0; col < 4; ++col) {
      const Vec d[4] = {half[0][col], half[1][col], half[2][col], half[3][col]};
      Vec points[4];
      input_points(d, points);
      for (int row = 0; row < 4; ++row) points[row].store(out + (4 * row + col) * pointPitch + c);
    }
  }
}

static bool winograd_output(const float* points, int64_t pointPitch, int64_t cols, float* out, int64_t outPitch) {
  // Zero times what is not finite is no number, and one of those makes the sum one.
  Vec notFinite = Vec::zero();
  for (int64_t c = 0; c < cols; c += Vec::kWidth) {
    // Aᵀ·m·A: the rows of Aᵀ are (1,1,1,0) and (0,1,-1,-1).
    Vec half[2][4];
    for (int col = 0; col < 4; ++col) {
      Vec m[4];
      for (int row = 0; row < 4; ++row) m[row] = Vec::load(points + (4 * row + col) * pointPitch + c);
      half[0][col] = m[0] + m[1] + m[2];
      half[1][col] = m[1] - m[2] - m[3];
    }
    for (int row = 0; row < 2; ++row) {
      const Vec left = half[row][0] + half[row][1] + half[row][2], right = half[row][1] - half[row][2] - half[row][3];
      left.store(out + 2 * row * outPitch + c);
      right.store(out + (2 * row + 1) * outPitch + c);
      notFinite = Vec::fma(left + right, Vec::zero(), notFinite);
    }
  }
  return notFinite.sum() == 0;
}

const WinogradKernels winograd_kernels = {
    .input = winograd_input,
    .output = winograd_output,
};

}  // namespace vd::cpu::VD_ISA
