// The definition of attention over float8 codes: softmax over all keys of a query, then the weighted mean of the values, of what codes
// stand for.
#pragma once
#include <algorithm>
#include <vector>

#include "reference.h"

namespace vd::cpu {

/** Where the keys of a query lie: pixel of the first, and from each to the next. */
struct AttendedKeys {
  int64_t first, step, count;
};

template <class Args> AttendedKeys attended_keys(const Args& a, int64_t b, int64_t f, int64_t s) {
  const int64_t Fk = a.k.dims[1], L = a.k.dims[2];
  if (a.axis == AttentionAxis::time) return {b * Fk * L + s, L, Fk};
  return {(b * Fk + (Fk == 1 ? 0 : f)) * L, 1, L};
}

/** Calls store(channel, value) with the results of a head of a query. */
template <class Args, class Store>
void attend_codes(const Args& a, int64_t row, const AttendedKeys& keys, int64_t h, std::vector<float>& scores, const Store& store) {
  const int64_t D = a.q.channels() / a.heads;
  const float scale = a.scale * at(a.qScale, 0, 0) * at(a.kScale, 0, 0);
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
    store(d, at(a.vScale, 0, 0) * (sum / total));
  }
}

/** Calls store(token, channel, value) with every result. */
template <class Args, class Store> void attention_over_codes(const Args& a, ThreadPool& pool, const Store& store) {
  const int64_t F = a.q.dims[1], S = a.q.dims[2];
  pool.parallel_for(a.q.dims[0] * F * S, [&](int64_t row, int) {
    std::vector<float> scores;
    const AttendedKeys keys = attended_keys(a, row / S / F, row / S % F, row % S);
    for (int64_t h = 0; h < a.heads; ++h) attend_codes(a, row, keys, h, scores, [&](int64_t d, float value) { store(row, d, value); });
  });
}

}  // namespace vd::cpu
