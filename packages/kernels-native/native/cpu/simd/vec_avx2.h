// Eight floats in an AVX register. Included only by files built for AVX2 with FMA and F16C.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace vd::cpu::avx2 {

struct Vec {
  static constexpr int kWidth = 8;
  /** Vectors of columns that one tile of the matrix kernel is wide: 6 x 2 sums in 16 registers. */
  static constexpr int kMaxVecs = 2;
  __m256 v;

  static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Vec load_first(const float* p, int64_t n) { return {_mm256_maskload_ps(p, first(n))}; }
  static Vec load_f16(const void* p) { return {_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)))}; }
  static Vec load_bf16(const void* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))};
  }
  static Vec all(float x) { return {_mm256_set1_ps(x)}; }
  static Vec zero() { return {_mm256_setzero_ps()}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
  void store_first(float* p, int64_t n) const { _mm256_maskstore_ps(p, first(n), v); }

  friend Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
  friend Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
  friend Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
  friend Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
  static Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  /** c - a * b, rounded once. */
  static Vec fnma(Vec a, Vec b, Vec c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
  static Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
  static Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
  static Vec abs(Vec a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
  static Vec round(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  /** 1 / a, correctly rounded. */
  static Vec reciprocal(Vec a) { return all(1.0f) / a; }
  /** a * 2^n for whole n in [-252, 254], in two steps since one factor alone may leave the range. */
  static Vec scale_by_power(Vec a, Vec n) {
    const __m256i whole = _mm256_cvtps_epi32(n.v);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    return a * power(half) * power(_mm256_sub_epi32(whole, half));
  }
  /** x < y ? a : b per lane. */
  static Vec select_less(Vec x, Vec y, Vec a, Vec b) { return {_mm256_blendv_ps(b.v, a.v, _mm256_cmp_ps(x.v, y.v, _CMP_LT_OQ))}; }
  /** Lane by lane: a where x is NaN, else b. */
  static Vec select_nan(Vec x, Vec a, Vec b) { return {_mm256_blendv_ps(b.v, a.v, _mm256_cmp_ps(x.v, x.v, _CMP_UNORD_Q))}; }
  /** The first n lanes of a, the others from b. */
  static Vec first_of(Vec a, Vec b, int64_t n) { return {_mm256_blendv_ps(b.v, a.v, _mm256_castsi256_ps(first(n)))}; }
  float sum() const {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  float largest() const {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  float first_lane() const { return _mm256_cvtss_f32(v); }

 private:
  static __m256i first(int64_t n) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
  }
  static Vec power(__m256i n) { return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23))}; }
};

/** Eight rows become eight columns: pairs, then fours within 128 bits, then the halves. */
static inline void transpose_block(Vec* rows) {
  __m256 two[8], four[8];
  for (int i = 0; i < 8; i += 2) {
    two[i] = _mm256_unpacklo_ps(rows[i].v, rows[i + 1].v);
    two[i + 1] = _mm256_unpackhi_ps(rows[i].v, rows[i + 1].v);
  }
  for (int i = 0; i < 8; i += 4) {
    four[i] = _mm256_shuffle_ps(two[i], two[i + 2], 0x44);
    four[i + 1] = _mm256_shuffle_ps(two[i], two[i + 2], 0xee);
    four[i + 2] = _mm256_shuffle_ps(two[i + 1], two[i + 3], 0x44);
    four[i + 3] = _mm256_shuffle_ps(two[i + 1], two[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    rows[i].v = _mm256_permute2f128_ps(four[i], four[i + 4], 0x20);
    rows[i + 4].v = _mm256_permute2f128_ps(four[i], four[i + 4], 0x31);
  }
}

/** Sums and sums of squares of eight lanes, in double. */
struct Moments {
  __m256d sum[2], square[2];
  static Moments zero() {
    const __m256d none = _mm256_setzero_pd();
    return {{none, none}, {none, none}};
  }
  void add(Vec x) {
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x.v));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x.v, 1));
    sum[0] = _mm256_add_pd(sum[0], low);
    sum[1] = _mm256_add_pd(sum[1], high);
    square[0] = _mm256_fmadd_pd(low, low, square[0]);
    square[1] = _mm256_fmadd_pd(high, high, square[1]);
  }
  void store(double* sums, double* squares) const {
    _mm256_storeu_pd(sums, sum[0]);
    _mm256_storeu_pd(sums + 4, sum[1]);
    _mm256_storeu_pd(squares, square[0]);
    _mm256_storeu_pd(squares + 4, square[1]);
  }
};

}  // namespace vd::cpu::avx2
