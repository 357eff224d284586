// The definition of attention's gradients: with p = exp(score - lse) and ds = p (dy vT - delta), dv = pT dy, dq = scale ds k
// and dk = scale dsT q.
#include <vector>

#include "../../device/attention_sight.h"
#include "../../native/cpu/attention_reference.h"

namespace vd::cpu {
namespace {

/** Keys of one head that are summed over together, and their gradients: [K, D] each. */
struct HeadKeys {
  std::vector<float> k, v, dk, dv;
};

float dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(float* sum, float factor, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += factor * x[i];
}

std::vector<float> head_of(const Tensor& t, int64_t pixel, int64_t h, int64_t dim) {
  std::vector<float> head(static_cast<size_t>(dim));
  for (int64_t d = 0; d < dim; ++d) head[d] = at(t, pixel, h * dim + d);
  return head;
}

/** Adds what query (b, f, s) of head h gives to its keys, and writes its own gradient. */
void add_query(const AttentionBackwardArgs& a, int64_t b, int64_t f, int64_t s, int64_t h, HeadKeys& keys) {
  const int64_t F = a.q.dims[1], S = a.q.dims[2], D = a.q.channels() / a.heads;
  const int64_t pixel = (b * F + f) * S + s, row = (b * F + f) * a.heads + h;
  const std::vector<float> q = head_of(a.q, pixel, h, D), y = head_of(a.y, pixel, h, D), dy = head_of(a.dy, pixel, h, D);
  const float delta = dot(dy.data(), y.data(), D), lse = at(a.lse, row, s);
  put(a.delta, row, s, delta);
  std::vector<float> dq(static_cast<size_t>(D));
  const KeySequence sequence = sequence_of(a, b, f, s);
  const device::AttentionSight sight = device::attention_sight(a);
  const bool seesAny = lse > -std::numeric_limits<float>::infinity();
  for (int64_t l = sequence.begin; seesAny && l < sequence.end; ++l) {
    if (!sight.sees(static_cast<int32_t>(sequence.place), static_cast<int32_t>(l - sequence.begin))) continue;
    const float* k = keys.k.data() + l * D;
    const float* v = keys.v.data() + l * D;
    const int64_t query = a.axis == AttentionAxis::time ? f : s;
    const float p = std::exp(dot(q.data(), k, D) * a.scale + mask_of(a, b, h, query, l) - lse);
    const float ds = a.scale * p * (dot(dy.data(), v, D) - delta);
    add_scaled(dq.data(), ds, k, D);
    add_scaled(keys.dk.data() + l * D, ds, q.data(), D);
    add_scaled(keys.dv.data() + l * D, p, dy.data(), D);
  }
  if (!a.dq.present()) return;
  for (int64_t d = 0; d < D; ++d) put(a.dq, pixel, h * D + d, dq[d]);
}

/** All queries that share the keys of head h of clip b: those of frame or token `across`, or of all frames. */
void add_head(const AttentionBackwardArgs& a, int64_t b, int64_t across, int64_t h, bool allFrames) {
  const int64_t F = a.q.dims[1], S = a.q.dims[2], Fk = a.k.dims[1], L = a.k.dims[2], D = a.q.channels() / a.heads;
  const bool time = a.axis == AttentionAxis::time;
  const int64_t first = time ? b * Fk * L + across : (b * Fk + (Fk == 1 ? 0 : across)) * L, step = time ? L : 1;
  const int64_t numKeys = time ? Fk : L;
  HeadKeys keys;
  for (int64_t l = 0; l < numKeys; ++l) {
    for (int64_t d = 0; d < D; ++d) {
      keys.k.push_back(at(a.k, first + l * step, h * D + d));
      keys.v.push_back(at(a.v, first + l * step, h * D + d));
    }
  }
  keys.dk.resize(keys.k.size());
  keys.dv.resize(keys.v.size());
  for (int64_t f = time || allFrames ? 0 : across; f < (time || allFrames ? F : across + 1); ++f)
    for (int64_t s = time ? across : 0; s < (time ? across + 1 : S); ++s) add_query(a, b, f, s, h, keys);
  for (int64_t l = 0; l < numKeys; ++l) {
    for (int64_t d = 0; d < D; ++d) {
      if (a.dk.present()) put(a.dk, first + l * step, h * D + d, keys.dk[l * D + d]);
      if (a.dv.present()) put(a.dv, first + l * step, h * D + d, keys.dv[l * D + d]);
    }
  }
}

}  // namespace

void attention_backward_reference(const AttentionBackwardArgs& a, ThreadPool& pool) {
  const bool time = a.axis == AttentionAxis::time, allFrames = !time && a.k.dims[1] == 1;
  const int64_t across = time ? a.q.dims[2] : allFrames ? 1 : a.q.dims[1];
  pool.parallel_for(a.q.dims[0] * across * a.heads,
                    [&](int64_t i, int) { add_head(a, i / (across * a.heads), i / a.heads % across, i % a.heads, allFrames); });
}

}  // namespace vd::cpu
