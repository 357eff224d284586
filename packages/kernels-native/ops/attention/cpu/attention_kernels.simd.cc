// Softmax over blocks of keys and the rearrangements attention needs.
#include "attention_kernels.h"

#include "../../../native/cpu/simd/load.h"
#include "../../../native/cpu/simd/math.h"
#include "../../../native/cpu/simd/transpose.h"

namespace vd::cpu::VD_ISA {

/** Scaled and masked scores of one vector of keys; whole vectors of scores may always be read. */
static inline Vec masked_scores(const float* scores, const float* mask, Vec scale, int64_t n) {
  const Vec scaled = Vec::load(scores) * scale;
  return mask ? scaled + load_n(mask, n) : scaled;
}

static void softmax_row(const SoftmaxRows& s, int r) {
  float* scores = s.scores + r * s.pitch;
  const float* mask = s.mask ? s.mask + r * s.maskPitch : nullptr;
  const int64_t keys = s.keys[r];
  const Vec scale = Vec::all(s.scale), none = Vec::all(-__builtin_inff());
  Vec largest = none;
  for (int64_t i = 0; i < keys; i += Vec::kWidth) {
    const Vec score = masked_scores(scores + i, mask ? mask + i : nullptr, scale, keys - i);
    // NaN, which no maximum takes, makes the sum NaN below.
    largest = Vec::max(i + Vec::kWidth <= keys ? score : Vec::first_of(score, none, keys - i), largest);
  }
  const float before = s.largest[r];
  const float block = largest.largest();
  const float now = block > before ? block : before;
  int64_t i = 0;
  s.correction[r] = 1.0f;
  // Of scores that are all -inf, each p is 0.
  const Vec center = Vec::all(now > -__builtin_inff() ? now : 0.0f);
  Vec total = Vec::zero();
  for (; i < keys; i += Vec::kWidth) {
    Vec p = exp(masked_scores(scores + i, mask ? mask + i : nullptr, scale, keys - i) - center);
    if (i + Vec::kWidth > keys) p = Vec::first_of(p, Vec::zero(), keys - i);
    total = total + p;
    p.store(scores + i);
  }
  if (before < now) s.correction[r] = exp(Vec::all(before - now)).first_lane();
  s.total[r] = s.total[r] * s.correction[r] + total.sum();
  s.largest[r] = now;
  for (; i < s.paddedKeys; i += Vec::kWidth) Vec::zero().store(scores + i);
}

static void softmax_rows(const SoftmaxRows& s) {
  for (int r = 0; r < s.rows; ++r) softmax_row(s, r);
}

static void accumulate(float* y, const float* before, float factor, const float* add, float outFactor, int64_t count) {
  for (int64_t i = 0; i < count; i += Vec::kWidth) {
    const int64_t n = count - i;
    Vec value = load_n(add + i, n);
    if (before) value = Vec::fma(load_n(before + i, n), Vec::all(factor), value);
    store_n(value * Vec::all(outFactor), y + i, n);
  }
}

const AttentionKernels attention_kernels = {
    .softmax_rows = softmax_rows,
    .transpose = transpose,
    .accumulate = accumulate,
};

}  // namespace vd::cpu::VD_ISA
