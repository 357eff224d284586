#include "attention_amx_shape.h"

#include <algorithm>

namespace vd::cpu {
namespace {

using amx::kBlockSide;
using amx::kStep;

constexpr int64_t kMaxKeys = 512;
/** Packed keys and values of a chunk: what leaves room in a 2 MiB second-level cache. */
constexpr int64_t kChunkBytes = int64_t{768} << 10;
/** Bytes of a part of a key and its value per channel. */
constexpr int64_t kPairBytes = 2 * 2;

int64_t most_keys(int64_t paddedDim, int parts) { return std::clamp(kChunkBytes / (kPairBytes * parts * paddedDim), kStep, kMaxKeys); }

/** Hands out 64-byte aligned pieces of scratch. */
class Taker {
 public:
  explicit Taker(std::byte* at) : at_(at) {}
  std::byte* bytes(int64_t count) {
    std::byte* start = at_;
    at_ += (count + 63) / 64 * 64;
    return start;
  }
  float* floats(int64_t count) { return reinterpret_cast<float*>(bytes(count * 4)); }

 private:
  std::byte* at_;
};

}  // namespace

AttentionAmxShape::AttentionAmxShape(const AttentionArgs& args, int numParts)
    : parts(numParts),
      headDim(args.q.channels() / args.heads),
      paddedDim(amx::padded_k(headDim)),
      chunk(key_chunk(longest_keys(args), most_keys(paddedDim, parts), kStep)),
      keyLayout(chunk, false, amx::kSide, 2),
      valueLayout(headDim, false, amx::kSide, 2) {
  for (int64_t s = 0; s < paddedDim / kStep; ++s) keySteps.push_back({s * amx::kStepBytes, s * key_step_bytes()});
  for (int vecs = 1; vecs <= 2; ++vecs) {
    for (int64_t s = 0; s < chunk / kStep; ++s) {
      valueSteps[vecs - 1].push_back({s * amx::kStepBytes, s * vecs * parts * amx::kTileBytes});
    }
  }
}

int64_t AttentionAmxShape::scratch_bytes() const {
  constexpr int64_t kAlignment = 14 * 64;
  const int64_t split = 2 * split_pitch(paddedDim) + 2 * split_pitch(chunk);
  const int64_t row = split + 3 * 4 * score_pitch() + 2 * 4 * kBlockSide;
  return key_bytes() + value_bytes() + kBlockSide * row + 3 * 4 * kMaxAmxQueries + kAlignment;
}

AttentionAmxBuffers AttentionAmxShape::buffers_in(std::byte* scratch) const {
  Taker take(scratch);
  AttentionAmxBuffers b{};
  b.keys = take.bytes(key_bytes());
  b.values = take.bytes(value_bytes());
  for (int i = 0; i < 2; ++i) {
    b.queries[i] = take.bytes(kBlockSide * split_pitch(paddedDim));
    b.probabilities[i] = take.bytes(kBlockSide * split_pitch(chunk));
    b.scores[i] = take.floats(kBlockSide * score_pitch());
    b.sums[i] = take.floats(kBlockSide * kBlockSide);
  }
  b.mask = take.floats(kBlockSide * score_pitch());
  b.state.largest = take.floats(kMaxAmxQueries);
  b.state.total = take.floats(kMaxAmxQueries);
  b.state.correction = take.floats(kMaxAmxQueries);
  b.state.mask = b.mask;
  return b;
}

}  // namespace vd::cpu
