// The online softmax of attention on the AMX engine, in pieces that run beside the tiles.
#include "../../../native/cpu/simd/amx_split.h"
#include "../../../native/cpu/simd/math.h"

#include "attention_amx_kernels.h"

namespace vd::cpu::avx512 {
namespace {

/** Scaled and masked scores from `first` on, -inf beyond `keys`. Whole vectors may be read. */
inline Vec scores_of(const float* scores, const float* mask, Vec scale, int64_t first, int64_t keys) {
  Vec score = Vec::load(scores + first) * scale;
  if (mask) score = score + Vec::load(mask + first);
  return first + Vec::kWidth <= keys ? score : Vec::first_of(score, Vec::all(-__builtin_inff()), keys - first);
}

}  // namespace
}  // namespace vd::cpu::avx512

namespace vd::cpu::amx {

using avx512::Vec;

void SoftmaxCursor::piece() {
  if (key < 0) return find_largest();
  add_step();
  if (key == paddedKeys) finish_row();
}

void SoftmaxCursor::find_largest() {
  const Vec scaling = Vec::all(scale);
  const float* maskRow = mask ? mask + at * pitch : nullptr;
  Vec most = Vec::all(-__builtin_inff());
  for (int64_t i = 0; i < keys[at]; i += Vec::kWidth) {
    // NaN, which no maximum takes, makes the sum NaN later.
    most = Vec::max(avx512::scores_of(scores + at * pitch, maskRow, scaling, i, keys[at]), most);
  }
  const float block = most.largest();
  now = block > largest[at] ? block : largest[at];
  Vec::zero().store(sums);
  key = 0;
}

/** Two vectors of probabilities, split at once. */
void SoftmaxCursor::add_step() {
  const Vec scaling = Vec::all(scale);
  const float* maskRow = mask ? mask + at * pitch : nullptr;
  Vec p[2] = {Vec::zero(), Vec::zero()};
  // Of scores that are all -inf, each p is 0.
  const Vec center = Vec::all(now > -__builtin_inff() ? now : 0.0f);
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t first = key + Vec::kWidth * i;
    if (first >= keys[at]) break;
    p[i] = avx512::exp(avx512::scores_of(scores + at * pitch, maskRow, scaling, first, keys[at]) - center);
  }
  (Vec::load(sums) + (p[0] + p[1])).store(sums);
  split_step(p[0].v, p[1].v, out + at * outPitch + key / kStep * kStepBytes, partBytes, parts);
  key += kStep;
}

void SoftmaxCursor::finish_row() {
  correction[at] = 1.0f;
  if (largest[at] < now) correction[at] = avx512::exp(Vec::all(largest[at] - now)).first_lane();
  total[at] = total[at] * correction[at] + Vec::load(sums).sum();
  largest[at] = now;
  key = -1;
  ++at;
}

}  // namespace vd::cpu::amx
