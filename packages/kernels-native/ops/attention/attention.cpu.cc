// The definition of attention: softmax over all allowed keys of a query, then the weighted mean of the values.
#include <algorithm>
#include <limits>
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** Keys that one query may see, and where they lie. */
struct KeyRange {
  int64_t first;   // pixel of key 0
  int64_t step;    // pixels from key to key
  int64_t begin;   // first key of the sequence
  int64_t end;     // one past the last
  int64_t row;     // the query's position in its sequence, for causal
};

KeyRange keys_of(const AttentionArgs& a, int64_t b, int64_t f, int64_t s) {
  const int64_t Fk = a.k.dims[1], L = a.k.dims[2];
  if (a.axis == AttentionAxis::time) return {b * Fk * L + s, L, 0, Fk, f};
  const int64_t first = (b * Fk + (Fk == 1 ? 0 : f)) * L;
  if (!a.cuQ.present()) return {first, 1, 0, L, s};
  const auto* q = a.cuQ.as<int32_t>();
  const auto* k = a.cuK.as<int32_t>();
  // Offsets are checked before a run, but they are memory that may be written during it.
  const auto held = [L](int32_t offset) { return std::clamp<int64_t>(offset, 0, L); };
  for (int64_t n = 0; n + 1 < a.cuQ.dims[0]; ++n)
    if (s >= q[n] && s < q[n + 1]) return {first, 1, held(k[n]), held(k[n + 1]), s - q[n]};
  return {first, 1, 0, 0, 0};
}

float mask_of(const AttentionArgs& a, int64_t b, int64_t h, int64_t s, int64_t l) {
  if (!a.mask.present()) return 0;
  const int64_t heads = a.mask.dims[1], S = a.mask.dims[2], L = a.mask.dims[3];
  const int64_t row = ((a.mask.dims[0] == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h)) * S + s;
  if (a.mask.dtype == DType::u8) return a.mask.as<uint8_t>()[row * a.mask.pitch + l] ? 0 : -std::numeric_limits<float>::infinity();
  (void)L;
  return at(a.mask, row, l);
}

void attend(const AttentionArgs& a, int64_t b, int64_t f, int64_t s, int64_t h, std::vector<float>& scores) {
  const float none = -std::numeric_limits<float>::infinity();
  const int64_t D = a.q.channels() / a.heads, F = a.q.dims[1], S = a.q.dims[2];
  const int64_t query = (b * F + f) * S + s;
  const KeyRange keys = keys_of(a, b, f, s);
  const int64_t end = a.causal ? std::min(keys.end, keys.begin + keys.row + 1) : keys.end;
  scores.assign(static_cast<size_t>(std::max<int64_t>(end - keys.begin, 0)), none);
  float highest = none;
  for (int64_t l = keys.begin; l < end; ++l) {
    float dot = 0;
    for (int64_t d = 0; d < D; ++d) dot += at(a.q, query, h * D + d) * at(a.k, keys.first + l * keys.step, h * D + d);
    highest = std::max(highest, scores[l - keys.begin] = dot * a.scale + mask_of(a, b, h, s, l));
  }
  float total = 0;
  if (highest != none)
    for (float& score : scores) total += score = std::exp(score - highest);
  for (int64_t d = 0; d < D; ++d) {
    float sum = 0;
    if (total > 0)
      for (int64_t l = keys.begin; l < end; ++l) sum += scores[l - keys.begin] * at(a.v, keys.first + l * keys.step, h * D + d);
    put(a.y, query, h * D + d, total > 0 ? sum / total : 0);
  }
  if (a.lse.present()) put(a.lse, (b * F + f) * a.heads + h, s, total > 0 ? highest + std::log(total) : none);
}

}  // namespace

void attention_reference(const AttentionArgs& a, ThreadPool& pool) {
  const int64_t F = a.q.dims[1], S = a.q.dims[2];
  pool.parallel_for(a.q.dims[0] * F * a.heads, [&](int64_t i, int) {
    std::vector<float> scores;
    for (int64_t s = 0; s < S; ++s) attend(a, i / (F * a.heads), i / a.heads % F, s, i % a.heads, scores);
  });
}

}  // namespace vd::cpu
