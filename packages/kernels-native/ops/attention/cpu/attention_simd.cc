// Attention on the SIMD matrix kernel, block by block with an online softmax (https://arxiv.org/abs/2205.14135).
//
// A task takes a run of queries of one head. It walks over its keys in chunks, packs each chunk once (keys transposed,
// values copied, both as panels of the matrix kernel) and runs all its query tiles against it: scores, softmax and
// weighted sum of a tile stay in the first-level cache. Sums of earlier chunks are kept in y.
//
// Log: 512 sequences of 14 frames, head of 64, one core of Sapphire Rapids with AVX-512: 991 us; 584 us since the last
// vector of keys is masked in registers and tiles of one vector keep two sums per row.
#include <algorithm>
#include <cstring>

#include "../../../native/cpu/panels.h"

#include "attention_fast.h"

namespace vd::cpu {
namespace {

/** Queries per task: packing a chunk of keys is a few percent of the work then. A multiple of kTileRows. */
constexpr int64_t kMaxQueries = 64 * kTileRows;
constexpr int64_t kMaxKeys = 320;
/** Query-key pairs that make a task worth its overhead: short sequences share one. */
constexpr int64_t kTaskPairs = 16384;

class AttentionSimd final : public PreparedRow {
 public:
  AttentionSimd(const AttentionArgs& args, const Kernels& kernels, const AttentionKernels& ownKernels)
      : args_(args),
        kernels_(kernels),
        ownKernels_(ownKernels),
        headDim_(args.q.channels() / args.heads),
        chunk_(key_chunk(longest_keys(args), kMaxKeys, kernels.width)),
        keyLayout_(chunk_, false, kernels.width, kernels.maxVecs),
        valueLayout_(headDim_, false, kernels.width, kernels.maxVecs) {}

  size_t scratch_bytes() const override {
    const int64_t floats = chunk_ * headDim_ + chunk_ * valueLayout_.packed_cols() + 2 * kTileRows * chunk_ + kTileRows * kMaxPanelCols +
                           2 * kMaxQueries + kTileRows;
    return static_cast<size_t>(floats + 8 * kAlign) * sizeof(float);
  }

  const char* name() const override { return "attention_simd"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    const AttentionPieces pieces(args_, kMaxQueries);
    pieces.clear_outside();
    const int64_t work = std::max<int64_t>(1, chunk_ * std::min(kMaxQueries, chunk_));
    const int64_t perTask = std::clamp<int64_t>(kTaskPairs / work, 1, 64);
    pool.parallel_for((pieces.count() + perTask - 1) / perTask, [&](int64_t task, int worker) {
      const Buffers buffers = buffers_in(scratch.of(worker));
      const int64_t end = std::min(pieces.count(), (task + 1) * perTask);
      for (int64_t i = task * perTask; i < end; ++i) attend(pieces.piece(i), buffers);
    });
  }

 private:
  static constexpr int64_t kAlign = 16;

  struct Buffers {
    float* keys;    // panels [headDim, keys]
    float* values;  // panels [keys, headDim]
    float* scores;  // [kTileRows, keys]
    float* sums;    // [kTileRows, kMaxPanelCols]
    SoftmaxState state;
  };

  Buffers buffers_in(std::byte* scratch) const {
    auto* at = reinterpret_cast<float*>(scratch);
    const auto take = [&at](int64_t floats) {
      float* start = at;
      at += (floats + kAlign - 1) / kAlign * kAlign;
      return start;
    };
    Buffers b{};
    b.keys = take(chunk_ * headDim_);
    b.values = take(chunk_ * valueLayout_.packed_cols());
    b.scores = take(kTileRows * chunk_);
    b.sums = take(kTileRows * kMaxPanelCols);
    b.state = {take(kMaxQueries), take(kMaxQueries), take(kTileRows), take(kTileRows * chunk_)};
    return b;
  }

  void attend(const AttentionPiece& p, const Buffers& b) const {
    start_softmax(p, b.state);
    const int64_t numKeys = p.numKeys;
    for (int64_t first = 0; first < numKeys; first += chunk_) {
      const int64_t count = std::min(chunk_, numKeys - first);
      pack_keys(p, first, count, b.keys);
      pack_values(p, first, count, b.values);
      for (int64_t query = 0; query < p.numQueries; query += kTileRows) {
        run_tile(p, query, first, count, first + count == numKeys, b);
      }
    }
    finish_piece(p, headDim_, numKeys > 0, b.state);
  }

  /** Vectors of a key panel that hold any of the first `count` keys. */
  int vecs_for(int64_t count, const Panel& panel) const {
    const int64_t left = count - panel.cols.packedCol;
    return static_cast<int>(std::min<int64_t>(panel.vecs, (left + kernels_.width - 1) / kernels_.width));
  }

  void pack_keys(const AttentionPiece& p, int64_t first, int64_t count, float* out) const {
    for (const Panel& panel : keyLayout_.panels()) {
      const int64_t col = panel.cols.packedCol;
      if (col >= count) break;
      const int64_t rows = std::min<int64_t>(panel.cols.panelCols, count - col);
      const int64_t pitch = static_cast<int64_t>(vecs_for(count, panel)) * kernels_.width;
      ownKernels_.transpose(p.k + (first + col) * p.kStep, p.kStep, rows, headDim_, out + col * headDim_, pitch);
    }
  }

  void pack_values(const AttentionPiece& p, int64_t first, int64_t count, float* out) const {
    for (const Panel& panel : valueLayout_.panels()) {
      const int64_t pitch = panel.cols.panelCols;
      float* rows = out + panel.cols.packedCol * chunk_;
      for (int64_t key = 0; key < count; ++key) {
        const float* value = p.v + (first + key) * p.vStep + panel.cols.outCol;
        float* row = rows + key * pitch;
        std::memcpy(row, value, static_cast<size_t>(panel.cols.outCols) * sizeof(float));
        std::fill(row + panel.cols.outCols, row + pitch, 0.0f);
      }
    }
  }

  /** Queries [query, query + kTileRows) against the packed keys. */
  void run_tile(const AttentionPiece& p, int64_t query, int64_t firstKey, int64_t count, bool last, const Buffers& b) const {
    const int rows = static_cast<int>(std::min<int64_t>(kTileRows, p.numQueries - query));
    GemmSegment segment{};
    segment.k = headDim_;
    for (int r = 0; r < kTileRows; ++r) segment.rows[r] = p.q + (query + std::min(r, rows - 1)) * p.qStep;
    GemmTile tile{&segment, 1, nullptr, DType::f32, 0, nullptr, chunk_};
    for (const Panel& panel : keyLayout_.panels()) {
      const int64_t col = panel.cols.packedCol;
      if (col >= count) break;
      tile.panel = reinterpret_cast<const std::byte*>(b.keys + col * headDim_);
      tile.vecs = vecs_for(count, panel);
      tile.sums = b.scores + col;
      kernels_.gemm_tile(tile);
    }
    softmax_tile(args_, kernels_.width, ownKernels_, p, query, rows, firstKey, count, b.scores, chunk_, b.state);
    weigh_values(p, query, count, rows, firstKey == 0, last, b);
  }

  void weigh_values(const AttentionPiece& p, int64_t query, int64_t count, int rows, bool first, bool last, const Buffers& b) const {
    GemmSegment segment{};
    segment.k = count;
    for (int r = 0; r < kTileRows; ++r) segment.rows[r] = b.scores + std::min(r, rows - 1) * chunk_;
    GemmTile tile{&segment, 1, nullptr, DType::f32, 0, b.sums, kMaxPanelCols};
    for (const Panel& panel : valueLayout_.panels()) {
      tile.panel = reinterpret_cast<const std::byte*>(b.values + panel.cols.packedCol * chunk_);
      tile.vecs = panel.vecs;
      kernels_.gemm_tile(tile);
      for (int r = 0; r < rows; ++r) {
        float* y = p.y + (query + r) * p.yStep + panel.cols.outCol;
        const float total = b.state.total[query + r];
        const float factor = !last ? 1.0f : total == 0 ? 0.0f : 1.0f / total;
        ownKernels_.accumulate(y, first ? nullptr : y, b.state.correction[r], b.sums + r * kMaxPanelCols, factor, panel.cols.outCols);
      }
    }
  }

  AttentionArgs args_;
  const Kernels& kernels_;
  const AttentionKernels& ownKernels_;
  int64_t headDim_;
  int64_t chunk_;  // keys at a time
  PanelLayout keyLayout_;
  PanelLayout valueLayout_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_attention_simd(const AttentionArgs& args, Isa isa) {
  return std::make_unique<AttentionSimd>(args, kernels_of(isa), attention_kernels_of(isa));
}

}  // namespace vd::cpu
