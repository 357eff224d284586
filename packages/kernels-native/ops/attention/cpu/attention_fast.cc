// Attention: chooses the engine; and the softmax that both engines share.
#include "attention_fast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../../native/core/float_element.h"
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/tile_epilogue.h"

namespace vd::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
/** Sequences below this leave tiles of 16 x 32 mostly empty. */
constexpr int64_t kMinAmxKeys = 40;

}  // namespace

int64_t longest_keys(const AttentionArgs& args) { return args.axis == AttentionAxis::time ? args.k.dim(1) : args.k.dim(2); }

int64_t key_chunk(int64_t keys, int64_t most, int64_t step) {
  const int64_t chunks = std::max<int64_t>(1, (keys + most - 1) / most);
  const int64_t even = std::max<int64_t>(1, (keys + chunks - 1) / chunks);
  return (even + step - 1) / step * step;
}

int64_t seen_keys(const AttentionArgs& args, const AttentionPiece& piece, int64_t query, int64_t firstKey, int64_t count) {
  return args.causal ? std::clamp<int64_t>(piece.firstQuery + query + 1 - firstKey, 0, count) : count;
}

void read_mask(const AttentionArgs& args, const AttentionPiece& piece, int64_t query, int64_t firstKey, int64_t count, float* out) {
  const std::byte* row = piece.mask + query * piece.maskStep;
  const DType type = args.mask.dtype;
  for (int64_t i = 0; i < count; ++i) {
    if (type == DType::u8) {
      out[i] = row[firstKey + i] != std::byte{0} ? 0.0f : kNone;
    } else {
      out[i] = load_element(row, type, firstKey + i);
    }
  }
}

void softmax_tile(const AttentionArgs& args, int width, const AttentionKernels& kernels, const AttentionPiece& piece, int64_t query,
                  int rows, int64_t firstKey, int64_t count, float* scores, int64_t pitch, const SoftmaxState& state) {
  SoftmaxRows s{};
  s.scores = scores;
  s.pitch = pitch;
  s.rows = rows;
  s.paddedKeys = (count + width - 1) / width * width;
  s.scale = args.scale;
  s.largest = state.largest + query;
  s.total = state.total + query;
  s.correction = state.correction;
  for (int r = 0; r < rows; ++r) s.keys[r] = seen_keys(args, piece, query + r, firstKey, count);
  if (piece.mask) {
    s.mask = state.mask;
    s.maskPitch = pitch;
    for (int r = 0; r < rows; ++r) read_mask(args, piece, query + r, firstKey, count, state.mask + r * pitch);
  }
  kernels.softmax_rows(s);
}

void start_softmax(const AttentionPiece& piece, const SoftmaxState& state) {
  std::fill_n(state.largest, piece.numQueries, kNone);
  std::fill_n(state.total, piece.numQueries, 0.0f);
}

void finish_piece(const AttentionPiece& piece, int64_t headDim, bool anyKeys, const SoftmaxState& state) {
  for (int64_t query = 0; query < piece.numQueries; ++query) {
    if (!anyKeys) std::fill_n(piece.y + query * piece.yStep, headDim, 0.0f);
    if (!piece.lse) continue;
    const float total = state.total[query];
    piece.lse[query * piece.lseStep] = total > 0 ? state.largest[query] + std::log(total) : kNone;
  }
}

int64_t visible_keys(const AttentionArgs& args, const AttentionPiece& piece) {
  return args.causal ? std::min(piece.numKeys, piece.firstQuery + piece.numQueries) : piece.numKeys;
}

/** Over space or time. */
std::unique_ptr<PreparedRow> prepare_attention(const AttentionArgs& args, PackCache&, Isa wanted) {
  const bool fits = args.q.dtype == DType::f32 && args.k.dtype == DType::f32 && args.v.dtype == DType::f32 && args.y.dtype == DType::f32 &&
                    absent_or_f32(args.lse);
  if (!fits) return nullptr;
  const Isa isa = resolve_isa(wanted);
  if constexpr (kHasAmx) {
    if (isa == Isa::amx && args.axis == AttentionAxis::space && longest_keys(args) >= kMinAmxKeys) return make_attention_amx(args);
  }
  return make_attention_simd(args, isa);
}

}  // namespace vd::cpu
