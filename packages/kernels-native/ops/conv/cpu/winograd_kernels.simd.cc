// The transforms of Winograd's F(2x2, 3x3) and F(4x4, 3x3) (https://arxiv.org/abs/1509.09308, section 4.1), the points of a tile by
// channels.
#include "winograd_kernels.h"

#include "../../../native/cpu/simd/load.h"

namespace vd::cpu::VD_ISA {
namespace {

/** F(2, 3) with the points 0, ±1 and infinity. */
struct Two {
  static constexpr int kOutputs = 2, kPoints = 4;
  /** Bᵀ·d: the rows of Bᵀ are (1,0,-1,0) (0,1,1,0) (0,-1,1,0) (0,1,0,-1). */
  static inline __attribute__((always_inline)) void input(const Vec (&d)[4], Vec (&out)[4]) {
    out[0] = d[0] - d[2];
    out[1] = d[1] + d[2];
    out[2] = d[2] - d[1];
    out[3] = d[1] - d[3];
  }
  /** Aᵀ·m: the rows of Aᵀ are (1,1,1,0) and (0,1,-1,-1). */
  static inline __attribute__((always_inline)) void output(const Vec (&m)[4], Vec (&out)[2]) {
    out[0] = m[0] + m[1] + m[2];
    out[1] = m[1] - m[2] - m[3];
  }
};

/** F(4, 3) with the points 0, ±a, ±b and infinity. */
struct Four {
  static constexpr int kOutputs = 4, kPoints = 6;
  static constexpr double kA = kWinogradNear, kB = kWinogradFar, kA2 = kA * kA, kB2 = kB * kB;
  static inline Vec all(double value) { return Vec::all(static_cast<float>(value)); }
  /** Bᵀ·d: row p has the coefficients of x(x² - a²)(x² - b²) without the factor of its point, the last one those of all of it. */
  static inline __attribute__((always_inline)) void input(const Vec (&d)[6], Vec (&out)[6]) {
    out[0] = Vec::fnma(all(kA2 + kB2), d[2], Vec::fma(all(kA2 * kB2), d[0], d[4]));
    out[5] = Vec::fnma(all(kA2 + kB2), d[3], Vec::fma(all(kA2 * kB2), d[1], d[5]));
    const Vec nearEven = Vec::fnma(all(kB2), d[2], d[4]), nearOdd = Vec::fnma(all(kB2), d[1], d[3]);
    out[1] = Vec::fma(all(kA), nearOdd, nearEven);
    out[2] = Vec::fnma(all(kA), nearOdd, nearEven);
    const Vec farEven = Vec::fnma(all(kA2), d[2], d[4]), farOdd = Vec::fnma(all(kA2), d[1], d[3]);
    out[3] = Vec::fma(all(kB), farOdd, farEven);
    out[4] = Vec::fnma(all(kB), farOdd, farEven);
  }
  /** Aᵀ·m: row i has the points' i-th powers, infinity's being that of the last row alone. */
  static inline __attribute__((always_inline)) void output(const Vec (&m)[6], Vec (&out)[4]) {
    const Vec nearSum = m[1] + m[2], nearStep = m[1] - m[2], farSum = m[3] + m[4], farStep = m[3] - m[4];
    out[0] = m[0] + nearSum + farSum;
    out[1] = Vec::fma(all(kA), nearStep, all(kB) * farStep);
    out[2] = Vec::fma(all(kA2), nearSum, all(kB2) * farSum);
    out[3] = Vec::fma(all(kA2 * kA), nearStep, Vec::fma(all(kB2 * kB), farStep, m[5]));
  }
};

template <class Form> void winograd_input(const float* const* pixels, int64_t channels, float* out, int64_t pointPitch) {
  constexpr int n = Form::kPoints;
  for (int64_t c = 0; c < channels; c += Vec::kWidth) {
    Vec half[n][n];
    for (int row = 0; row < n; ++row) {
      Vec d[n];
      for (int col = 0; col < n; ++col) d[col] = load_n(pixels[n * row + col] + c, channels - c);
      Form::input(d, half[row]);
    }
    for (int col = 0; col < n; ++col) {
      Vec d[n], points[n];
      for (int row = 0; row < n; ++row) d[row] = half[row][col];
      Form::input(d, points);
      for (int row = 0; row < n; ++row) points[row].store(out + (n * row + col) * pointPitch + c);
    }
  }
}

template <class Form> bool winograd_output(const float* points, int64_t pointPitch, int64_t cols, float* out, int64_t outPitch) {
  constexpr int m = Form::kOutputs, n = Form::kPoints;
  // Zero times what is not finite is no number, and one of those makes the sum one.
  Vec notFinite = Vec::zero();
  for (int64_t c = 0; c < cols; c += Vec::kWidth) {
    Vec half[n][m];
    for (int col = 0; col < n; ++col) {
      Vec products[n];
      for (int row = 0; row < n; ++row) products[row] = Vec::load(points + (n * row + col) * pointPitch + c);
      Form::output(products, half[col]);
    }
    for (int row = 0; row < m; ++row) {
      Vec products[n], outputs[m];
      for (int col = 0; col < n; ++col) products[col] = half[col][row];
      Form::output(products, outputs);
      Vec sum = outputs[0];
      for (int col = 0; col < m; ++col) outputs[col].store(out + (m * row + col) * outPitch + c);
      for (int col = 1; col < m; ++col) sum = sum + outputs[col];
      notFinite = Vec::fma(sum, Vec::zero(), notFinite);
    }
  }
  return notFinite.sum() == 0;
}

template <class Out> void add_lines(const WinogradLines& lines, Out* out) {
  const double* v = lines.first;
  const double a = lines.taps[0], b = lines.taps[1], c = lines.taps[2];
  for (int64_t i = 0; i < lines.count; ++i) out[i] = static_cast<Out>(a * v[i] + b * v[i + lines.step] + c * v[i + 2 * lines.step]);
}

}  // namespace

const WinogradKernels winograd_kernels = {
    .two = {.input = winograd_input<Two>, .output = winograd_output<Two>},
    .four = {.input = winograd_input<Four>, .output = winograd_output<Four>},
    .addLines = add_lines<double>,
    .addLinesRounded = add_lines<float>,
};

}  // namespace vd::cpu::VD_ISA
