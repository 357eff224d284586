#include "attention_sequence.h"

#include <algorithm>
#include <limits>

namespace vd::cpu {

AttentionPieces::AttentionPieces(const AttentionArgs& a, int64_t maxQueries)
    : args_(a), overTime_(a.axis == AttentionAxis::time), headDim_(a.q.channels() / a.heads), sight_(device::attention_sight(a)) {
  const int64_t across = a.q.dim(overTime_ ? 2 : 1), along = a.q.dim(overTime_ ? 1 : 2), keys = a.k.dim(overTime_ ? 1 : 2);
  for (int64_t clip = 0; clip < a.q.dim(0); ++clip) {
    for (int64_t i = 0; i < across; ++i) {
      if (a.cuQ.present()) add_packed(clip, i, maxQueries);
      else add_runs({clip, i, 0, 0, 0, 0, keys}, along, maxQueries);
    }
  }
}

void AttentionPieces::add_packed(int64_t clip, int64_t across, int64_t maxQueries) {
  const int64_t queries = args_.q.dim(overTime_ ? 1 : 2), keys = args_.k.dim(overTime_ ? 1 : 2);
  const auto* q = args_.cuQ.as<int32_t>();
  const auto* k = args_.cuK.as<int32_t>();
  for (int64_t i = 0; i + 1 < args_.cuQ.dim(0); ++i) {
    const int64_t q0 = std::clamp<int64_t>(q[i], 0, queries), q1 = std::clamp<int64_t>(q[i + 1], q0, queries);
    const int64_t k0 = std::clamp<int64_t>(k[i], 0, keys), k1 = std::clamp<int64_t>(k[i + 1], k0, keys);
    add_runs({clip, across, q0, k0, 0, 0, k1 - k0}, q1 - q0, maxQueries);
  }
}

void AttentionPieces::clear_outside() const {
  if (!args_.cuQ.present()) return;
  const auto* offsets = args_.cuQ.as<int32_t>();
  const int64_t across = args_.q.dim(overTime_ ? 2 : 1), along = args_.q.dim(overTime_ ? 1 : 2);
  const int64_t begin = std::clamp<int64_t>(offsets[0], 0, along);
  const int64_t end = std::clamp<int64_t>(offsets[args_.cuQ.dim(0) - 1], 0, along);
  for (int64_t clip = 0; clip < args_.q.dim(0); ++clip) {
    for (int64_t i = 0; i < across; ++i) {
      clear(clip, i, 0, begin);
      clear(clip, i, end, along);
    }
  }
}

void AttentionPieces::clear(int64_t clip, int64_t across, int64_t first, int64_t end) const {
  const int64_t frames = args_.q.dim(1);
  for (int64_t i = first; i < end; ++i) {
    std::fill_n(args_.y.as<float>() + pixel(args_.y, clip, across, i) * args_.y.pitch, args_.y.channels(), 0.0f);
    if (!args_.lse.present()) continue;
    const int64_t frame = clip * frames + (overTime_ ? i : across), token = overTime_ ? across : i;
    for (int64_t head = 0; head < args_.heads; ++head) {
      args_.lse.as<float>()[(frame * args_.heads + head) * args_.lse.pitch + token] = -std::numeric_limits<float>::infinity();
    }
  }
}

void AttentionPieces::add_runs(Run run, int64_t queries, int64_t maxQueries) {
  for (int64_t first = 0; first < queries; first += maxQueries) {
    run.firstQuery = first;
    run.numQueries = std::min(maxQueries, queries - first);
    runs_.push_back(run);
  }
}

int64_t AttentionPieces::pixel(const Tensor& t, int64_t clip, int64_t across, int64_t i) const {
  const int64_t frames = t.dim(1), tokens = t.dim(2);
  if (overTime_) return (clip * frames + i) * tokens + across;
  return (clip * frames + (frames == 1 ? 0 : across)) * tokens + i;
}

int64_t AttentionPieces::step(const Tensor& t) const { return (overTime_ ? t.dim(2) : 1) * t.pitch; }

AttentionPiece AttentionPieces::piece(int64_t index) const {
  const AttentionArgs& a = args_;
  const Run& run = runs_[static_cast<size_t>(index / a.heads)];
  const int64_t head = index % a.heads, channel = head * headDim_;
  const int64_t firstQuery = run.begin + run.firstQuery;
  const auto first = static_cast<int32_t>(run.firstQuery), last = static_cast<int32_t>(run.firstQuery + run.numQueries - 1);
  const int64_t keyEnd = sight_.key_end(first, last, static_cast<int32_t>(run.numKeys));
  const int64_t keyBegin = std::min<int64_t>(sight_.key_begin(first, last), keyEnd);
  const int64_t firstKey = run.keyBegin + keyBegin;
  AttentionPiece p{};
  const auto query_row = [&](const Tensor& t) { return t.as<float>() + pixel(t, run.clip, run.across, firstQuery) * t.pitch + channel; };
  const auto key_row = [&](const Tensor& t) { return t.as<float>() + pixel(t, run.clip, run.across, firstKey) * t.pitch + channel; };
  p.q = query_row(a.q);
  p.qStep = step(a.q);
  p.k = key_row(a.k);
  p.kStep = step(a.k);
  p.v = key_row(a.v);
  p.vStep = step(a.v);
  p.y = query_row(a.y);
  p.yStep = step(a.y);
  p.numQueries = run.numQueries;
  p.numKeys = keyEnd - keyBegin;
  p.firstQuery = run.firstQuery;
  p.firstKey = keyBegin;
  if (a.lse.present()) {
    const int64_t frame = run.clip * a.q.dim(1) + (overTime_ ? firstQuery : run.across);
    p.lse = a.lse.as<float>() + (frame * a.heads + head) * a.lse.pitch + (overTime_ ? run.across : firstQuery);
    p.lseStep = overTime_ ? a.heads * a.lse.pitch : 1;
  }
  if (a.mask.present()) {
    const auto at_most = [&](int dim, int64_t i) { return a.mask.dim(dim) == 1 ? 0 : i; };
    const int64_t item = bytes_of(a.mask.dtype);
    const int64_t row = (at_most(0, run.clip) * a.mask.dim(1) + at_most(1, head)) * a.mask.dim(2) + at_most(2, firstQuery);
    p.maskStep = a.mask.dim(2) == 1 ? 0 : a.mask.pitch * item;
    p.mask = a.mask.as<std::byte>() + (row * a.mask.pitch + firstKey) * item;
  }
  return p;
}

}  // namespace vd::cpu
