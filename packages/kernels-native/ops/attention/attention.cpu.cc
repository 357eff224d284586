// The definition of attention: softmax over all allowed keys of a query, then the weighted mean of the values.
#include <vector>

#include "../../device/attention_sight.h"
#include "../../native/cpu/attention_reference.h"
#include "cpu/attention_heads.h"

namespace vd::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/** Queries and keys as the products take them, packed. */
struct Heads {
  std::vector<float> q, k;
};

void attend(const AttentionArgs& a, const Heads& heads, int64_t b, int64_t f, int64_t s, int64_t h, std::vector<float>& scores) {
  const int64_t E = a.q.channels(), D = E / a.heads, F = a.q.dims[1], S = a.q.dims[2];
  const int64_t query = (b * F + f) * S + s, place = a.axis == AttentionAxis::time ? f : s;
  const KeySequence keys = sequence_of(a, b, f, s);
  const device::AttentionSight sight = device::attention_sight(a);
  scores.assign(static_cast<size_t>(std::max<int64_t>(keys.end - keys.begin, 0)), kNone);
  float highest = kNone;
  bool seesAny = false;
  for (int64_t l = keys.begin; l < keys.end; ++l) {
    if (!sight.sees(static_cast<int32_t>(keys.place), static_cast<int32_t>(l - keys.begin))) continue;
    const float* key = heads.k.data() + (keys.first + l * keys.step) * E + h * D;
    float dot = 0;
    for (int64_t d = 0; d < D; ++d) dot += heads.q[query * E + h * D + d] * key[d];
    const float score = scores[l - keys.begin] = dot * a.scale + mask_of(a, b, h, place, l);
    highest = std::max(highest, score);
    seesAny = seesAny || score != kNone;  // NaN too, which no maximum takes
  }
  float total = 0;
  if (seesAny)
    for (float& score : scores) total += score = std::exp(score - highest);
  for (int64_t d = 0; d < D; ++d) {
    float sum = 0;
    if (seesAny)
      for (int64_t l = keys.begin; l < keys.end; ++l) sum += scores[l - keys.begin] * at(a.v, keys.first + l * keys.step, h * D + d);
    put(a.y, query, h * D + d, seesAny ? sum / total : 0);
  }
  if (a.lse.present()) put(a.lse, (b * F + f) * a.heads + h, s, seesAny ? highest + std::log(total) : kNone);
}

}  // namespace

void attention_reference(const AttentionArgs& a, ThreadPool& pool) {
  const int64_t F = a.q.dims[1], S = a.q.dims[2];
  Heads heads{std::vector<float>(a.q.count()), std::vector<float>(a.k.count())};
  transform_heads(a.q, HeadTransform::of_queries(a), heads.q.data(), pool);
  transform_heads(a.k, HeadTransform::of_keys(a), heads.k.data(), pool);
  pool.parallel_for(a.q.dims[0] * F * a.heads, [&](int64_t i, int) {
    std::vector<float> scores;
    for (int64_t s = 0; s < S; ++s) attend(a, heads, i / (F * a.heads), i / a.heads % F, s, i % a.heads, scores);
  });
}

}  // namespace vd::cpu
