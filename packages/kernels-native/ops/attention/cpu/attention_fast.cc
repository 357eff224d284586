// Attention: chooses the engine; and the softmax that both engines share.
#include "attention_fast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../../native/core/float_element.h"
#include "../../../native/cpu/fast_paths.h"

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
  const int64_t seen = piece.firstQuery + query + 1 - piece.firstKey - firstKey;
  return args.causal ? std::clamp<int64_t>(seen, 0, count) : count;
}

bool has_added(const AttentionArgs& args) { return args.mask.present() || device::attention_sight(args).has_window(); }

namespace {

void read_mask(const std::byte* row, DType type, int64_t firstKey, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    if (type == DType::u8) {
      out[i] = row[firstKey + i] != std::byte{0} ? 0.0f : kNone;
    } else {
      out[i] = load_element(row, type, firstKey + i);
    }
  }
}

/** -inf for keys outside the window of a query, by their places in the sequence. */
void hide_outside(const device::AttentionSight& sight, int64_t query, int64_t firstKey, int64_t count, float* out) {
  const device::AttentionPlace own = sight.place(static_cast<int32_t>(query));
  device::AttentionPlace at = sight.place(static_cast<int32_t>(firstKey));
  for (int64_t i = 0; i < count; ++i) {
    if (!sight.in_window(own, at)) out[i] = kNone;
    if (++at.column < sight.columns) continue;
    at.column = 0;
    if (++at.row < sight.rows) continue;
    at.row = 0;
    ++at.frame;
  }
}

}  // namespace

void read_added(const AttentionArgs& args, const AttentionPiece& piece, int64_t query, int64_t firstKey, int64_t count, float* out) {
  if (piece.mask) read_mask(piece.mask + query * piece.maskStep, args.mask.dtype, firstKey, count, out);
  else std::fill_n(out, count, 0.0f);
  const device::AttentionSight sight = device::attention_sight(args);
  if (sight.has_window()) hide_outside(sight, piece.firstQuery + query, piece.firstKey + firstKey, count, out);
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
  if (has_added(args)) {
    s.mask = state.mask;
    s.maskPitch = pitch;
    for (int r = 0; r < rows; ++r) read_added(args, piece, query + r, firstKey, count, state.mask + r * pitch);
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
    piece.lse[query * piece.lseStep] = total == 0 ? kNone : state.largest[query] + std::log(total);
  }
}

std::unique_ptr<PreparedRow> make_attention_float(const AttentionArgs& args, const Target& target) {
  if constexpr (kHasAmx) {
    const amx::Engine engine = amx::engine_of(target);
    if (engine && args.axis == AttentionAxis::space && longest_keys(args) >= kMinAmxKeys) return make_attention_amx(args, engine);
  }
  return make_attention_simd(args, target.isa);
}

/** Over space or time. */
std::unique_ptr<PreparedRow> prepare_attention(const AttentionArgs& args, PackCache&, const Target& target) {
  const auto is_float = [](const Tensor& t) { return t.dtype == DType::f32; };
  const bool allFloat = is_float(args.q) && is_float(args.k) && is_float(args.v) && is_float(args.y);
  const bool changes = HeadTransform::of_queries(args).changes() || HeadTransform::of_keys(args).changes();
  return allFloat && !changes ? make_attention_float(args, target) : make_attention_staged(args, target);
}

}  // namespace vd::cpu
