// Elementary functions on vectors of floats.
// Polynomials: own minimax fits in relative error (Lawson-weighted least squares in double, checked with 40 digits).
#pragma once
#include "../../generated/op_args.h"
#include "isa.h"

namespace vd::cpu::VD_ISA {

/** e^x for -87.3 <= x <= 88.7, error within 1 ulp or so. */
static inline Vec exp_in_range(Vec x) {
  const Vec n = Vec::round(x * Vec::all(1.44269504f));
  // ln 2 in two parts: the first has few enough bits that n times it is exact.
  const Vec r = Vec::fnma(n, Vec::all(-2.12194440e-4f), Vec::fnma(n, Vec::all(0.693359375f), x));
  Vec q = Vec::all(0.0013814602280035615f);
  q = Vec::fma(q, r, Vec::all(0.008368715643882751f));
  q = Vec::fma(q, r, Vec::all(0.04166838899254799f));
  q = Vec::fma(q, r, Vec::all(0.1666652113199234f));
  q = Vec::fma(q, r, Vec::all(0.4999999403953552f));
  return Vec::scale_by_power(Vec::fma(q * r, r, r) + Vec::all(1.0f), n);
}

// Vec::min and Vec::max give their second operand where one is NaN: what may be NaN stands last, so that NaN stays NaN.

/** e^x for x <= 88.7; 0 below -87.33, where results would be subnormal: those cost 100 cycles each. */
static inline Vec exp(Vec x) {
  const Vec smallest = Vec::all(-87.33f);
  return Vec::select_less(x, smallest, Vec::zero(), exp_in_range(Vec::max(smallest, x)));
}

/** 1 / (1 + e^-x). The argument is held within ±80, where the result is 2e-35 or 1, so that nothing overflows. */
static inline Vec sigmoid(Vec x) {
  const Vec bounded = Vec::max(Vec::all(-80.0f), Vec::min(Vec::all(80.0f), Vec::zero() - x));
  return Vec::reciprocal(Vec::all(1.0f) + exp_in_range(bounded));
}

/** Φ(x) = (1 + erf(x/√2)) / 2, erf(x/√2) = x · P(x²) / Q(x²) up to |x| = 5.65, where it is 1 in float. Absolute error
 *  below 1e-7, as that of 1 + erf in float can be. A form by e^(-x²/2) with small relative error in the left tail took
 *  twice as long: GEGLU layers would wait for it. */
static inline Vec normal_cdf(Vec x) {
  const Vec a = Vec::max(Vec::min(x, Vec::all(5.65f)), Vec::all(-5.65f));
  const Vec s = a * a;
  Vec p = Vec::all(4.398405906158587e-08f);
  p = Vec::fma(p, s, Vec::all(1.2576108019857202e-05f));
  p = Vec::fma(p, s, Vec::all(0.0003425769682507962f));
  p = Vec::fma(p, s, Vec::all(0.009383123368024826f));
  p = Vec::fma(p, s, Vec::all(0.06835847347974777f));
  p = Vec::fma(p, s, Vec::all(0.7978845238685608f));
  Vec q = Vec::all(1.1705810720741283e-06f);
  q = Vec::fma(q, s, Vec::all(7.400387403322384e-05f));
  q = Vec::fma(q, s, Vec::all(0.0018989995587617159f));
  q = Vec::fma(q, s, Vec::all(0.028817808255553246f));
  q = Vec::fma(q, s, Vec::all(0.2523409128189087f));
  q = Vec::fma(q, s, Vec::all(1.0f));
  const Vec half = Vec::all(0.5f);
  // The quotient may round to just beyond 1.
  return Vec::max(Vec::fma(a * p * Vec::reciprocal(q), half, half), Vec::zero());
}

static inline Vec silu(Vec x) { return x * sigmoid(x); }
static inline Vec gelu(Vec x) { return x * normal_cdf(x); }
static inline Vec quick_gelu(Vec x) { return x * sigmoid(x * Vec::all(1.702f)); }
static inline Vec relu(Vec x) { return Vec::max(Vec::zero(), x); }
/** x/2 · (1 + tanh u) = x · sigmoid(2u) with u = √(2/π)·(x + 0.044715·x³). */
static inline Vec gelu_tanh(Vec x) {
  const Vec cubic = Vec::fma(x * x, Vec::all(0.044715f), Vec::all(1.0f));
  return x * sigmoid(x * cubic * Vec::all(1.5957691216f));
}

/** Activation of one vector; gated ones are handled where both halves are at hand. */
template <Activation ACT> static inline Vec activate(Vec x) {
  if constexpr (ACT == Activation::silu) return silu(x);
  if constexpr (ACT == Activation::gelu) return gelu(x);
  if constexpr (ACT == Activation::gelu_tanh) return gelu_tanh(x);
  if constexpr (ACT == Activation::quick_gelu) return quick_gelu(x);
  if constexpr (ACT == Activation::relu) return relu(x);
  return x;
}

}  // namespace vd::cpu::VD_ISA
