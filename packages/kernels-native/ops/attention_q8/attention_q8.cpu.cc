// The definition of attention_q8: softmax over all keys of a query, then the weighted mean of the values, all of rounded operands.
#include <algorithm>
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** x [B,F,S,E] with each head of each frame rounded to `type` and back. */
std::vector<float> rounded(const Tensor& x, int64_t heads, DType type, ThreadPool& pool) {
  const int64_t S = x.dims[2], E = x.channels(), D = E / heads;
  std::vector<float> out(static_cast<size_t>(x.count()));
  pool.parallel_for(x.dims[0] * x.dims[1] * heads, [&](int64_t i, int) {
    const int64_t first = i / heads * S, from = i % heads * D;
    float largest = 0;
    for (int64_t s = first; s < first + S; ++s)
      for (int64_t d = from; d < from + D; ++d) largest = std::max(largest, std::fabs(at(x, s, d)));
    const float scale = std::max(largest / (type == DType::i8 ? 127.0f : kFloat8Max), 0x1p-126f), inverse = 1.0f / scale;
    for (int64_t s = first; s < first + S; ++s)
      for (int64_t d = from; d < from + D; ++d) {
        uint8_t code;
        store_code(&code, type, 0, at(x, s, d) * inverse);
        out[s * E + d] = load_code(&code, type, 0) * scale;
      }
  });
  return out;
}

std::vector<float> as_is(const Tensor& x) {
  std::vector<float> out(static_cast<size_t>(x.count()));
  for (int64_t i = 0; i < x.pixels(); ++i)
    for (int64_t c = 0; c < x.channels(); ++c) out[i * x.channels() + c] = at(x, i, c);
  return out;
}

struct Operands {
  std::vector<float> q, k, v;
};

void attend(const AttentionQ8Args& a, const Operands& o, int64_t row, int64_t firstKey, int64_t h, std::vector<float>& scores) {
  const int64_t E = a.q.channels(), D = E / a.heads, L = a.k.dims[2];
  const float* query = o.q.data() + row * E + h * D;
  scores.resize(static_cast<size_t>(L));
  float highest = -INFINITY, total = 0;
  for (int64_t l = 0; l < L; ++l) {
    const float* key = o.k.data() + (firstKey + l) * E + h * D;
    float dot = 0;
    for (int64_t d = 0; d < D; ++d) dot += query[d] * key[d];
    highest = std::max(highest, scores[l] = dot * a.scale);
  }
  for (float& score : scores) total += score = std::exp(score - highest);
  for (int64_t d = 0; d < D; ++d) {
    float sum = 0;
    for (int64_t l = 0; l < L; ++l) sum += scores[l] * o.v[(firstKey + l) * E + h * D + d];
    put(a.y, row, h * D + d, sum / total);
  }
}

}  // namespace

void attention_q8_reference(const AttentionQ8Args& a, ThreadPool& pool) {
  const int64_t F = a.q.dims[1], S = a.q.dims[2], Fk = a.k.dims[1], L = a.k.dims[2];
  const DType scores = a.scores == AttentionScores::i8 ? DType::i8 : DType::f8e4m3;
  const Operands o{rounded(a.q, a.heads, scores, pool), rounded(a.k, a.heads, scores, pool),
                   a.values == AttentionValues::full ? as_is(a.v) : rounded(a.v, a.heads, DType::f8e4m3, pool)};
  pool.parallel_for(a.q.dims[0] * F * a.heads, [&](int64_t i, int) {
    std::vector<float> row;
    const int64_t frame = i / a.heads, keyFrame = frame / F * Fk + (Fk == 1 ? 0 : frame % F);
    for (int64_t s = 0; s < S; ++s) attend(a, o, frame * S + s, keyFrame * L, i % a.heads, row);
  });
}

}  // namespace vd::cpu
