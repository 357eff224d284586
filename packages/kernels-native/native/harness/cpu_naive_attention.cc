#include <algorithm>

#include "cpu_naive.h"

namespace vd::harness {
namespace {

double element(const Tensor& t, int64_t pixel, int64_t channel) {
  return cpu::load_element(t.data, t.dtype, pixel * t.pitch + channel);
}

/** Rows of one sequence: pixel of query i is q0 + i·qStep, of key j is k0 + j·kStep. */
struct Sequence {
  int64_t clip, q0, qStep, k0, kStep, numQueries, numKeys, lseRow, lseStep;
};

double mask_at(const AttentionArgs& a, int64_t clip, int64_t head, int64_t query, int64_t key) {
  if (!a.mask.present()) return 0;
  const Tensor& m = a.mask;
  const int64_t row = ((m.dim(0) > 1 ? clip : 0) * m.dim(1) + (m.dim(1) > 1 ? head : 0)) * m.dim(2) + query;
  if (m.dtype != DType::u8) return element(m, row, key);
  return m.as<uint8_t>()[row * m.pitch + key] ? 0 : -std::numeric_limits<double>::infinity();
}

void attend(const AttentionArgs& a, const Sequence& s, int64_t head, std::vector<double>& y, std::vector<double>* lse) {
  const int64_t dim = a.q.channels() / a.heads, at = head * dim;
  for (int64_t i = 0; i < s.numQueries; ++i) {
    const int64_t pixel = s.q0 + i * s.qStep;
    const int64_t keys = a.causal ? std::min(s.numKeys, i + 1) : s.numKeys;
    std::vector<double> score(static_cast<size_t>(keys));
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < dim; ++d) dot += element(a.q, pixel, at + d) * element(a.k, s.k0 + j * s.kStep, at + d);
      score[static_cast<size_t>(j)] = dot * a.scale + mask_at(a, s.clip, head, i, j);
      largest = std::max(largest, score[static_cast<size_t>(j)]);
    }
    for (double& v : score) total += v = largest > -1e300 ? std::exp(v - largest) : 0;
    for (int64_t d = 0; d < dim; ++d) {
      double sum = 0;
      for (int64_t j = 0; j < keys; ++j) sum += score[static_cast<size_t>(j)] * element(a.v, s.k0 + j * s.kStep, at + d);
      y[static_cast<size_t>(pixel * a.y.channels() + at + d)] = total > 0 ? sum / total : 0;
    }
    if (lse) (*lse)[static_cast<size_t>(s.lseRow + head * a.q.dim(2) + i * s.lseStep)] = largest + std::log(total);
  }
}

std::vector<Sequence> sequences_of(const AttentionArgs& a) {
  std::vector<Sequence> all;
  const int64_t frames = a.q.dim(1), tokens = a.q.dim(2), keyFrames = a.k.dim(1), keyTokens = a.k.dim(2);
  const int64_t perFrame = a.heads * tokens;
  for (int64_t b = 0; b < a.q.dim(0); ++b) {
    if (a.axis == AttentionAxis::time) {
      for (int64_t t = 0; t < tokens; ++t) {
        all.push_back({b, b * frames * tokens + t, tokens, b * keyFrames * keyTokens + t, keyTokens, frames, keyFrames,
                       b * frames * perFrame + t, perFrame});
      }
      continue;
    }
    for (int64_t f = 0; f < frames; ++f) {
      const int64_t kf = keyFrames == 1 ? 0 : f, q0 = (b * frames + f) * tokens;
      if (!a.cuQ.present()) {
        all.push_back({b, q0, 1, (b * keyFrames + kf) * keyTokens, 1, tokens, keyTokens, (b * frames + f) * perFrame, 1});
        continue;
      }
      const auto *cuQ = a.cuQ.as<int32_t>(), *cuK = a.cuK.as<int32_t>();
      for (int64_t i = 0; i + 1 < a.cuQ.dim(0); ++i) {
        all.push_back({0, cuQ[i], 1, cuK[i], 1, cuQ[i + 1] - cuQ[i], cuK[i + 1] - cuK[i], cuQ[i], 1});
      }
    }
  }
  return all;
}

}  // namespace

std::vector<double> naive_attention(const AttentionArgs& a, std::vector<double>* lse) {
  std::vector<double> y(static_cast<size_t>(a.y.count()));
  // Queries of no sequence see no key.
  if (lse) lse->assign(static_cast<size_t>(a.q.pixels() * a.heads), -std::numeric_limits<double>::infinity());
  for (const Sequence& s : sequences_of(a)) {
    for (int64_t head = 0; head < a.heads; ++head) attend(a, s, head, y, lse);
  }
  return y;
}

}  // namespace vd::harness
