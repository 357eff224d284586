// Products of small matrices that lie in the caches, and what is between them.
#include "attention_backward_kernels.h"

#include "../../../native/cpu/simd/load_typed.h"
#include "../../../native/cpu/simd/math.h"
#include "../../../native/cpu/simd/transpose.h"

namespace vd::cpu::VD_ISA {

/** Rows of a tile whose sums, with kMaxVecs vectors of columns, are in registers. */
constexpr int kRows = 6;

/** Rows from `m` and VECS vectors of columns from `n` on. */
template <int VECS> static void multiply_tile(const MatrixProduct& p, int64_t m, int64_t n) {
  const int rows = p.m - m < kRows ? static_cast<int>(p.m - m) : kRows;
  const float* a[kRows];
  Vec sums[kRows][VECS];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    // Rows beyond the last one are that again, and not stored.
    a[r] = p.a + (m + (r < rows ? r : rows - 1)) * p.aRowStep;
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) sums[r][c] = Vec::zero();
  }
  const float* b = p.b + n;
  const int64_t step = p.aColumnStep;
  for (int64_t k = 0, at = 0; k < p.k; ++k, at += step, b += p.bPitch) {
    Vec columns[VECS];
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) columns[c] = Vec::load(b + c * Vec::kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vec value = Vec::all(a[r][at]);
#pragma GCC unroll 4
      for (int c = 0; c < VECS; ++c) sums[r][c] = Vec::fma(value, columns[c], sums[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) break;
#pragma GCC unroll 4
    for (int c = 0; c < VECS; ++c) {
      float* out = p.c + (m + r) * p.cPitch + n + c * Vec::kWidth;
      (p.adds ? Vec::load(out) + sums[r][c] : sums[r][c]).store(out);
    }
  }
}

template <int VECS> static void multiply_columns(const MatrixProduct& p, int64_t n) {
  for (int64_t m = 0; m < p.m; m += kRows) multiply_tile<VECS>(p, m, n);
}

static void multiply(const MatrixProduct& p) {
  int64_t n = 0;
  for (; n + Vec::kMaxVecs * Vec::kWidth <= p.n; n += Vec::kMaxVecs * Vec::kWidth) multiply_columns<Vec::kMaxVecs>(p, n);
  const int64_t left = (p.n - n) / Vec::kWidth;
  if constexpr (Vec::kMaxVecs == 4) {
    if (left == 3) return multiply_columns<3>(p, n);
    if (left == 2) return multiply_columns<2>(p, n);
  }
  if (left == 1) multiply_columns<1>(p, n);
}

/** e^x as the definition's: infinite above 88.7, and what is not a number stays so. */
static inline Vec exp_of_any(Vec x) {
  const Vec infinite = Vec::all(__builtin_inff());
  return Vec::select_less(x, infinite, exp(Vec::min(Vec::all(89.0f), x)), x);
}

static void gradient_row(const GradientRow& row) {
  const Vec scale = Vec::all(row.scale), lse = Vec::all(row.lse), delta = Vec::all(row.delta);
  int64_t i = 0;
  for (; i < row.keys; i += Vec::kWidth) {
    const int64_t n = row.keys - i;
    Vec score = Vec::load(row.scores + i) * scale;
    if (row.added) score = score + load_n(row.added + i, n);
    Vec p = exp_of_any(score - lse);
    Vec ds = scale * p * (Vec::load(row.products + i) - delta);
    if (n < Vec::kWidth) {
      p = Vec::first_of(p, Vec::zero(), n);
      ds = Vec::first_of(ds, Vec::zero(), n);
    }
    p.store(row.scores + i);
    ds.store(row.products + i);
  }
  for (; i < row.paddedKeys; i += Vec::kWidth) {
    Vec::zero().store(row.scores + i);
    Vec::zero().store(row.products + i);
  }
}

template <DType TYPE> static void read_typed(float* out, const std::byte* in, int64_t count) {
  for (int64_t i = 0; i < count; i += Vec::kWidth) load_typed<TYPE>(in + i * bytes_of(TYPE), count - i).store(out + i);
}

static void read_row(float* out, const std::byte* in, DType type, int64_t count) {
  if (type == DType::f16) return read_typed<DType::f16>(out, in, count);
  if (type == DType::bf16) return read_typed<DType::bf16>(out, in, count);
  read_typed<DType::f32>(out, in, count);
}

static void dots(float* out, const float* a, const float* b, int64_t pitch, int64_t rows, int64_t count) {
  // All lanes are the same; rows side by side hide the latency of their chains.
  constexpr int kSideBySide = 8;
  for (int64_t first = 0; first < rows; first += kSideBySide) {
    Vec sums[kSideBySide];
    int64_t at[kSideBySide];
#pragma GCC unroll 8
    for (int r = 0; r < kSideBySide; ++r) {
      sums[r] = Vec::zero();
      at[r] = (first + r < rows ? first + r : rows - 1) * pitch;
    }
    for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 8
      for (int r = 0; r < kSideBySide; ++r) sums[r] = Vec::fma(Vec::all(a[at[r] + i]), Vec::all(b[at[r] + i]), sums[r]);
    }
    for (int r = 0; r < kSideBySide && first + r < rows; ++r) out[first + r] = sums[r].first_lane();
  }
}

const AttentionBackwardKernels attention_backward_kernels = {
    .width = Vec::kWidth,
    .multiply = multiply,
    .gradient_row = gradient_row,
    .transpose = transpose,
    .read_row = read_row,
    .dots = dots,
};

}  // namespace vd::cpu::VD_ISA
