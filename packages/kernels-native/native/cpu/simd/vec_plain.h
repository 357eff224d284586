// Four floats in an SSE2 register, which every x86-64 has. No fused multiply-add: fma rounds twice here.
#pragma once
#include <emmintrin.h>

#include <cstdint>

#include "../../core/float_element.h"

namespace vd::cpu::plain {

struct Vec {
  static constexpr int kWidth = 4;
  /** Vectors of columns that one tile of the matrix kernel is wide: 6 x 2 sums in 16 registers. */
  static constexpr int kMaxVecs = 2;
  __m128 v;

  static Vec load(const float* p) { return {_mm_loadu_ps(p)}; }
  static Vec load_first(const float* p, int64_t n) {
    float lanes[kWidth] = {};
    for (int64_t i = 0; i < n && i < kWidth; ++i) lanes[i] = p[i];
    return load(lanes);
  }
  static Vec load_f16(const void* p) { return load_halves(p, DType::f16); }
  static Vec load_bf16(const void* p) { return load_halves(p, DType::bf16); }
  static Vec all(float x) { return {_mm_set1_ps(x)}; }
  static Vec zero() { return {_mm_setzero_ps()}; }
  void store(float* p) const { _mm_storeu_ps(p, v); }
  void store_first(float* p, int64_t n) const {
    float lanes[kWidth];
    store(lanes);
    for (int64_t i = 0; i < n && i < kWidth; ++i) p[i] = lanes[i];
  }

  friend Vec operator+(Vec a, Vec b) { return {_mm_add_ps(a.v, b.v)}; }
  friend Vec operator-(Vec a, Vec b) { return {_mm_sub_ps(a.v, b.v)}; }
  friend Vec operator*(Vec a, Vec b) { return {_mm_mul_ps(a.v, b.v)}; }
  friend Vec operator/(Vec a, Vec b) { return {_mm_div_ps(a.v, b.v)}; }
  static Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
  static Vec fnma(Vec a, Vec b, Vec c) { return c - a * b; }
  static Vec min(Vec a, Vec b) { return {_mm_min_ps(a.v, b.v)}; }
  static Vec max(Vec a, Vec b) { return {_mm_max_ps(a.v, b.v)}; }
  static Vec abs(Vec a) { return {_mm_andnot_ps(_mm_set1_ps(-0.0f), a.v)}; }
  /** To the nearest whole number, for |a| < 2^31. */
  static Vec round(Vec a) { return {_mm_cvtepi32_ps(_mm_cvtps_epi32(a.v))}; }
  static Vec reciprocal(Vec a) { return all(1.0f) / a; }
  /** a * 2^n for whole n in [-252, 254], in two steps since one factor alone may leave the range. */
  static Vec scale_by_power(Vec a, Vec n) {
    const __m128i whole = _mm_cvtps_epi32(n.v);
    const __m128i half = _mm_srai_epi32(whole, 1);
    return a * power(half) * power(_mm_sub_epi32(whole, half));
  }
  /** x < y ? a : b per lane. */
  static Vec select_less(Vec x, Vec y, Vec a, Vec b) {
    const __m128 less = _mm_cmplt_ps(x.v, y.v);
    return {_mm_or_ps(_mm_and_ps(less, a.v), _mm_andnot_ps(less, b.v))};
  }
  /** Lane by lane: a where x is NaN, else b. */
  static Vec select_nan(Vec x, Vec a, Vec b) {
    const __m128 nan = _mm_cmpunord_ps(x.v, x.v);
    return {_mm_or_ps(_mm_and_ps(nan, a.v), _mm_andnot_ps(nan, b.v))};
  }
  /** The first n lanes of a, the others from b. */
  static Vec first_of(Vec a, Vec b, int64_t n) { return select_less({_mm_setr_ps(0, 1, 2, 3)}, all(static_cast<float>(n)), a, b); }
  float sum() const {
    const __m128 two = _mm_add_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  float largest() const {
    const __m128 two = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  float first_lane() const { return _mm_cvtss_f32(v); }

 private:
  static Vec load_halves(const void* p, DType type) {
    float lanes[kWidth];
    for (int i = 0; i < kWidth; ++i) lanes[i] = load_element(p, type, i);
    return load(lanes);
  }
  static Vec power(__m128i n) { return {_mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(n, _mm_set1_epi32(127)), 23))}; }
};

/** Four rows become four columns. */
static inline void transpose_block(Vec* rows) {
  const __m128 a = _mm_unpacklo_ps(rows[0].v, rows[1].v), b = _mm_unpackhi_ps(rows[0].v, rows[1].v);
  const __m128 c = _mm_unpacklo_ps(rows[2].v, rows[3].v), d = _mm_unpackhi_ps(rows[2].v, rows[3].v);
  rows[0].v = _mm_movelh_ps(a, c);
  rows[1].v = _mm_movehl_ps(c, a);
  rows[2].v = _mm_movelh_ps(b, d);
  rows[3].v = _mm_movehl_ps(d, b);
}

/** Sums and sums of squares of four lanes, in double. */
struct Moments {
  __m128d sum[2], square[2];
  static Moments zero() {
    const __m128d none = _mm_setzero_pd();
    return {{none, none}, {none, none}};
  }
  void add(Vec x) {
    const __m128d low = _mm_cvtps_pd(x.v);
    const __m128d high = _mm_cvtps_pd(_mm_movehl_ps(x.v, x.v));
    sum[0] = _mm_add_pd(sum[0], low);
    sum[1] = _mm_add_pd(sum[1], high);
    square[0] = _mm_add_pd(square[0], _mm_mul_pd(low, low));
    square[1] = _mm_add_pd(square[1], _mm_mul_pd(high, high));
  }
  void store(double* sums, double* squares) const {
    _mm_storeu_pd(sums, sum[0]);
    _mm_storeu_pd(sums + 2, sum[1]);
    _mm_storeu_pd(squares, square[0]);
    _mm_storeu_pd(squares + 2, square[1]);
  }
};

}  // namespace vd::cpu::plain
