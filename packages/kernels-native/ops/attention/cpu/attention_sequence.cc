#include "attention_sequence.h"

#include <algorithm>
#include <limits>

namespace vd::cpu {

AttentionPieces::AttentionPieces(const AttentionArgs& a, int64_t maxQueries)
    : args_(a), headDim_(a.q.channels() / a.heads) {
  if (a.cuQ.present()) {
    add_packed(maxQueries);
    return;
  }
  const int64_t frames = a.q.dim(1), tokens = a.q.dim(2);
  const bool overTime = a.axis == AttentionAxis::time;
  for (int64_t clip = 0; clip < a.q.dim(0); ++clip) {
    for (int64_t token = 0; overTime && token < tokens; ++token) {
      add_runs({clip, 0, token, 0, 0, 0, a.k.dim(1)}, frames, maxQueries);
    }
    for (int64_t frame = 0; !overTime && frame < frames; ++frame) {
      add_runs({clip, frame, 0, 0, 0, 0, a.k.dim(2)}, tokens, maxQueries);
    }
  }
}

void AttentionPieces::add_packed(int64_t maxQueries) {
  const int64_t tokens = args_.q.dim(2), keyTokens = args_.k.dim(2);
  const auto* q = args_.cuQ.as<int32_t>();
  const auto* k = args_.cuK.as<int32_t>();
  for (int64_t i = 0; i + 1 < args_.cuQ.dim(0); ++i) {
    const int64_t q0 = std::clamp<int64_t>(q[i], 0, tokens), q1 = std::clamp<int64_t>(q[i + 1], q0, tokens);
    const int64_t k0 = std::clamp<int64_t>(k[i], 0, keyTokens), k1 = std::clamp<int64_t>(k[i + 1], k0, keyTokens);
    add_runs({0, 0, q0, 0, 0, k0, k1 - k0}, q1 - q0, maxQueries);
  }
}

void AttentionPieces::clear_outside() const {
  if (!args_.cuQ.present()) return;
  const auto* offsets = args_.cuQ.as<int32_t>();
  const int64_t tokens = args_.q.dim(2);
  clear(0, std::clamp<int64_t>(offsets[0], 0, tokens));
  clear(std::clamp<int64_t>(offsets[args_.cuQ.dim(0) - 1], 0, tokens), tokens);
}

void AttentionPieces::clear(int64_t firstToken, int64_t endToken) const {
  for (int64_t token = firstToken; token < endToken; ++token) {
    std::fill_n(args_.y.as<float>() + token * args_.y.pitch, args_.y.channels(), 0.0f);
    if (!args_.lse.present()) continue;
    for (int64_t head = 0; head < args_.heads; ++head) {
      args_.lse.as<float>()[head * args_.lse.pitch + token] = -std::numeric_limits<float>::infinity();
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

AttentionPiece AttentionPieces::piece(int64_t index) const {
  const AttentionArgs& a = args_;
  const Run& run = runs_[static_cast<size_t>(index / a.heads)];
  const int64_t head = index % a.heads;
  const bool overTime = a.axis == AttentionAxis::time;
  const int64_t frames = a.q.dim(1), tokens = a.q.dim(2), keyTokens = a.k.dim(2);
  // One step along the sequence in pixels: a whole frame over time, one token over space.
  const int64_t qPixels = overTime ? tokens : 1;
  const int64_t kPixels = overTime ? keyTokens : 1;
  const int64_t qRow = (run.clip * frames + run.frame) * tokens + run.token + run.firstQuery * qPixels;
  const int64_t kFrame = overTime || a.k.dim(1) == 1 ? 0 : run.frame;
  const int64_t kRow = (run.clip * a.k.dim(1) + kFrame) * keyTokens + (overTime ? run.token : run.firstKey);
  const int64_t channel = head * headDim_;
  AttentionPiece p{};
  p.q = a.q.as<float>() + qRow * a.q.pitch + channel;
  p.qStep = qPixels * a.q.pitch;
  p.k = a.k.as<float>() + kRow * a.k.pitch + channel;
  p.kStep = kPixels * a.k.pitch;
  p.v = a.v.as<float>() + kRow * a.v.pitch + channel;
  p.vStep = kPixels * a.v.pitch;
  p.y = a.y.as<float>() + qRow * a.y.pitch + channel;
  p.yStep = qPixels * a.y.pitch;
  p.numQueries = run.numQueries;
  p.numKeys = run.numKeys;
  p.firstQuery = run.firstQuery;
  if (a.lse.present()) {
    const int64_t frame = overTime ? run.firstQuery : run.frame;
    const int64_t token = overTime ? run.token : run.token + run.firstQuery;
    p.lse = a.lse.as<float>() + ((run.clip * frames + frame) * a.heads + head) * a.lse.pitch + token;
    p.lseStep = overTime ? a.heads * a.lse.pitch : 1;
  }
  if (a.mask.present()) {
    const int64_t clip = a.mask.dim(0) > 1 ? run.clip : 0;
    const int64_t maskHead = a.mask.dim(1) > 1 ? head : 0;
    p.maskStep = a.mask.pitch * bytes_of(a.mask.dtype);
    const int64_t row = (clip * a.mask.dim(1) + maskHead) * a.mask.dim(2) + run.firstQuery;
    p.mask = a.mask.as<std::byte>() + row * p.maskStep;
  }
  return p;
}

}  // namespace vd::cpu
