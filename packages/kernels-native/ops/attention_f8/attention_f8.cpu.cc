// The definition of attention_f8: softmax over all keys of a query, then the weighted mean of the values, of what codes stand for.
#include <algorithm>
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** Where the keys of a query lie: pixel of the first, and from each to the next. */
struct Keys {
  int64_t first, step, count;
};

Keys keys_of(const AttentionF8Args& a, int64_t b, int64_t f, int64_t s) {
  const int64_t Fk = a.k.dims[1], L = a.k.dims[2];
  if (a.axis == AttentionAxis::time) return {b * Fk * L + s, L, Fk};
  return {(b * Fk + (Fk == 1 ? 0 : f)) * L, 1, L};
}

void attend(const AttentionF8Args& a, int64_t row, const Keys& keys, int64_t h, std::vector<float>& scores) {
  const int64_t D = a.q.channels() / a.heads;
  const float scale = a.scale * a.qScale.as<float>()[0] * a.kScale.as<float>()[0];
  scores.resize(static_cast<size_t>(keys.count));
  float highest = -INFINITY, total = 0;
  for (int64_t j = 0; j < keys.count; ++j) {
    float dot = 0;
    for (int64_t d = h * D; d < (h + 1) * D; ++d) dot += at(a.q, row, d) * at(a.k, keys.first + j * keys.step, d);
    highest = std::max(highest, scores[j] = dot * scale);
  }
  for (float& score : scores) total += score = std::exp(score - highest);
  for (int64_t d = h * D; d < (h + 1) * D; ++d) {
    float sum = 0;
    for (int64_t j = 0; j < keys.count; ++j) sum += scores[j] * at(a.v, keys.first + j * keys.step, d);
    put(a.y, row, d, a.vScale.as<float>()[0] * (sum / total));
  }
}

}  // namespace

void attention_f8_reference(const AttentionF8Args& a, ThreadPool& pool) {
  const int64_t F = a.q.dims[1], S = a.q.dims[2];
  pool.parallel_for(a.q.dims[0] * F * S, [&](int64_t row, int) {
    std::vector<float> scores;
    const Keys keys = keys_of(a, row / S / F, row / S % F, row % S);
    for (int64_t h = 0; h < a.heads; ++h) attend(a, row, keys, h, scores);
  });
}

}  // namespace vd::cpu
