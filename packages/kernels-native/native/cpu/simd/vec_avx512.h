// Sixteen floats in an AVX-512 register. Included only by files built for AVX-512.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace vd::cpu::avx512 {

struct Vec {
  static constexpr int kWidth = 16;
  /** Vectors of columns that one tile of the matrix kernel is wide: 6 x 4 sums leave registers for the operands. */
  static constexpr int kMaxVecs = 4;
  __m512 v;

  static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vec load_first(const float* p, int64_t n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
  static Vec load_f16(const void* p) { return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))}; }
  static Vec load_bf16(const void* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
  }
  static Vec all(float x) { return {_mm512_set1_ps(x)}; }
  static Vec zero() { return {_mm512_setzero_ps()}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  void store_first(float* p, int64_t n) const { _mm512_mask_storeu_ps(p, first(n), v); }

  friend Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
  friend Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
  friend Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
  static Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  /** c - a * b, rounded once. */
  static Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
  static Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
  static Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
  static Vec abs(Vec a) { return {_mm512_abs_ps(a.v)}; }
  static Vec round(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  /** 1 / a for finite a of moderate size, within 1 ulp or so. */
  static Vec reciprocal(Vec a) {
    const Vec r{_mm512_rcp14_ps(a.v)};
    return fma(r, fnma(a, r, all(1.0f)), r);
  }
  /** a * 2^n for whole n. */
  static Vec scale_by_power(Vec a, Vec n) { return {_mm512_scalef_ps(a.v, n.v)}; }
  /** x < y ? a : b per lane. */
  static Vec select_less(Vec x, Vec y, Vec a, Vec b) { return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(x.v, y.v, _CMP_LT_OQ), b.v, a.v)}; }
  /** Lane by lane: a where x is NaN, else b. */
  static Vec select_nan(Vec x, Vec a, Vec b) { return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q), b.v, a.v)}; }
  /** The first n lanes of a, the others from b. */
  static Vec first_of(Vec a, Vec b, int64_t n) { return {_mm512_mask_blend_ps(first(n), b.v, a.v)}; }
  float sum() const { return _mm512_reduce_add_ps(v); }
  float largest() const { return _mm512_reduce_max_ps(v); }
  float first_lane() const { return _mm512_cvtss_f32(v); }

 private:
  static __mmask16 first(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
};

/** Sixteen rows become sixteen columns: pairs, then fours within 128 bits, then 128-bit blocks twice. */
static inline void transpose_block(Vec* rows) {
  __m512 two[16], four[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    two[i] = _mm512_unpacklo_ps(rows[i].v, rows[i + 1].v);
    two[i + 1] = _mm512_unpackhi_ps(rows[i].v, rows[i + 1].v);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    four[i] = _mm512_shuffle_ps(two[i], two[i + 2], 0x44);
    four[i + 1] = _mm512_shuffle_ps(two[i], two[i + 2], 0xee);
    four[i + 2] = _mm512_shuffle_ps(two[i + 1], two[i + 3], 0x44);
    four[i + 3] = _mm512_shuffle_ps(two[i + 1], two[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_shuffle_f32x4(four[i], four[i + 4], 0x88);
    const __m512 b = _mm512_shuffle_f32x4(four[i], four[i + 4], 0xdd);
    const __m512 c = _mm512_shuffle_f32x4(four[i + 8], four[i + 12], 0x88);
    const __m512 d = _mm512_shuffle_f32x4(four[i + 8], four[i + 12], 0xdd);
    rows[i].v = _mm512_shuffle_f32x4(a, c, 0x88);
    rows[i + 4].v = _mm512_shuffle_f32x4(b, d, 0x88);
    rows[i + 8].v = _mm512_shuffle_f32x4(a, c, 0xdd);
    rows[i + 12].v = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}

/** Sums and sums of squares of sixteen lanes, in double. */
struct Moments {
  __m512d sum[2], square[2];
  static Moments zero() {
    const __m512d none = _mm512_setzero_pd();
    return {{none, none}, {none, none}};
  }
  void add(Vec x) {
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x.v));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x.v, 1));
    sum[0] = _mm512_add_pd(sum[0], low);
    sum[1] = _mm512_add_pd(sum[1], high);
    square[0] = _mm512_fmadd_pd(low, low, square[0]);
    square[1] = _mm512_fmadd_pd(high, high, square[1]);
  }
  void store(double* sums, double* squares) const {
    _mm512_storeu_pd(sums, sum[0]);
    _mm512_storeu_pd(sums + 8, sum[1]);
    _mm512_storeu_pd(squares, square[0]);
    _mm512_storeu_pd(squares + 8, square[1]);
  }
};

}  // namespace vd::cpu::avx512
