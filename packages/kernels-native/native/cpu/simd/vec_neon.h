// Four floats in a NEON register, which every 64-bit Arm processor has, with fused multiply-add.
#pragma once
#include <arm_neon.h>

#include <cstdint>

namespace vd::cpu::neon {

struct Vec {
  static constexpr int kWidth = 4;
  /** Vectors of columns that one tile of the matrix kernel is wide: 6 x 4 sums in 32 registers. */
  static constexpr int kMaxVecs = 4;
  float32x4_t v;

  static Vec load(const float* p) { return {vld1q_f32(p)}; }
  static Vec load_first(const float* p, int64_t n) {
    float lanes[kWidth] = {};
    for (int64_t i = 0; i < n && i < kWidth; ++i) lanes[i] = p[i];
    return load(lanes);
  }
  static Vec load_f16(const void* p) { return {vcvt_f32_f16(vreinterpret_f16_u16(load_halves(p)))}; }
  static Vec load_bf16(const void* p) { return {vreinterpretq_f32_u32(vshll_n_u16(load_halves(p), 16))}; }
  static Vec all(float x) { return {vdupq_n_f32(x)}; }
  static Vec zero() { return all(0); }
  void store(float* p) const { vst1q_f32(p, v); }
  void store_first(float* p, int64_t n) const {
    float lanes[kWidth];
    store(lanes);
    for (int64_t i = 0; i < n && i < kWidth; ++i) p[i] = lanes[i];
  }

  friend Vec operator+(Vec a, Vec b) { return {vaddq_f32(a.v, b.v)}; }
  friend Vec operator-(Vec a, Vec b) { return {vsubq_f32(a.v, b.v)}; }
  friend Vec operator*(Vec a, Vec b) { return {vmulq_f32(a.v, b.v)}; }
  friend Vec operator/(Vec a, Vec b) { return {vdivq_f32(a.v, b.v)}; }
  static Vec fma(Vec a, Vec b, Vec c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
  /** c - a * b, rounded once. */
  static Vec fnma(Vec a, Vec b, Vec c) { return {vfmsq_f32(c.v, a.v, b.v)}; }
  // As on x86 the second operand wins over a NaN: one instruction more than vminq and vmaxq, and the same results.
  static Vec min(Vec a, Vec b) { return select_less(a, b, a, b); }
  static Vec max(Vec a, Vec b) { return select_less(b, a, a, b); }
  static Vec abs(Vec a) { return {vabsq_f32(a.v)}; }
  static Vec round(Vec a) { return {vrndnq_f32(a.v)}; }
  /** 1 / a, correctly rounded. */
  static Vec reciprocal(Vec a) { return all(1.0f) / a; }
  /** a * 2^n for whole n in [-252, 254], in two steps since one factor alone may leave the range. */
  static Vec scale_by_power(Vec a, Vec n) {
    const int32x4_t whole = vcvtnq_s32_f32(n.v);
    const int32x4_t half = vshrq_n_s32(whole, 1);
    return a * power(half) * power(vsubq_s32(whole, half));
  }
  /** x < y ? a : b per lane. */
  static Vec select_less(Vec x, Vec y, Vec a, Vec b) { return {vbslq_f32(vcltq_f32(x.v, y.v), a.v, b.v)}; }
  /** Lane by lane: a where x is NaN, else b. */
  static Vec select_nan(Vec x, Vec a, Vec b) { return {vbslq_f32(vceqq_f32(x.v, x.v), b.v, a.v)}; }
  /** The first n lanes of a, the others from b. */
  static Vec first_of(Vec a, Vec b, int64_t n) {
    const int32x4_t lanes = {0, 1, 2, 3};
    return {vbslq_f32(vcltq_s32(lanes, vdupq_n_s32(static_cast<int>(n))), a.v, b.v)};
  }
  float sum() const { return vaddvq_f32(v); }
  float largest() const { return vmaxvq_f32(v); }
  float first_lane() const { return vgetq_lane_f32(v, 0); }

 private:
  /** Four 16-bit elements at any byte address. */
  static uint16x4_t load_halves(const void* p) {
    uint16x4_t halves;
    __builtin_memcpy(&halves, p, sizeof halves);
    return halves;
  }
  static Vec power(int32x4_t n) { return {vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23))}; }
};

/** Four rows become four columns: pairs, then fours. */
static inline void transpose_block(Vec* rows) {
  const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(rows[0].v, rows[1].v));
  const float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(rows[0].v, rows[1].v));
  const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(rows[2].v, rows[3].v));
  const float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(rows[2].v, rows[3].v));
  rows[0].v = vreinterpretq_f32_f64(vzip1q_f64(a, c));
  rows[1].v = vreinterpretq_f32_f64(vzip1q_f64(b, d));
  rows[2].v = vreinterpretq_f32_f64(vzip2q_f64(a, c));
  rows[3].v = vreinterpretq_f32_f64(vzip2q_f64(b, d));
}

/** Sums and sums of squares of four lanes, in double. */
struct Moments {
  float64x2_t sum[2], square[2];
  static Moments zero() {
    const float64x2_t none = vdupq_n_f64(0);
    return {{none, none}, {none, none}};
  }
  void add(Vec x) {
    const float64x2_t low = vcvt_f64_f32(vget_low_f32(x.v));
    const float64x2_t high = vcvt_high_f64_f32(x.v);
    sum[0] = vaddq_f64(sum[0], low);
    sum[1] = vaddq_f64(sum[1], high);
    square[0] = vfmaq_f64(square[0], low, low);
    square[1] = vfmaq_f64(square[1], high, high);
  }
  void store(double* sums, double* squares) const {
    vst1q_f64(sums, sum[0]);
    vst1q_f64(sums + 2, sum[1]);
    vst1q_f64(squares, square[0]);
    vst1q_f64(squares + 2, square[1]);
  }
};

}  // namespace vd::cpu::neon
