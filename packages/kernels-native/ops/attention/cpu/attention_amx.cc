// Attention on the AMX engine, block by block with an online softmax (https://arxiv.org/abs/2205.14135): the scheme of
// attention_simd.cc with tiles of 32 queries. Queries, keys, values and probabilities are all split into three parts.
//
// The tiles would idle during the softmax and the vector units during the products, so three query tiles are under way
// at once: while tile t's softmax runs in pieces, the tiles compute the scores of t + 1 and the weighted sums of t - 1.
//
// Log: 28 sequences of 256, head of 64, one core of Sapphire Rapids.
//   SIMD kernel                                            3,751 us
//   tiles, phases one after the other                      3,430 us
//   three tiles under way                                  2,850 us
#include <algorithm>

#include "attention_amx_shape.h"
#include "attention_fast.h"

namespace vd::cpu {
namespace {

using amx::kBlockSide;
using amx::kSide;
using amx::kStep;
using amx::kTileBytes;

/** Rows whose weighted sums one piece adds to y. */
constexpr int kPieceRows = 4;

/** All query tiles of a piece against one packed chunk of keys. */
class ChunkRun {
 public:
  ChunkRun(const amx::Tiles& tiles, const AttentionArgs& args, const AttentionAmxShape& shape, const AttentionPiece& piece,
           const AttentionAmxBuffers& buffers, int64_t firstKey, int64_t count, bool last)
      : tiles_(tiles), args_(args), shape_(shape), p_(piece), b_(buffers), firstKey_(firstKey), count_(count), last_(last) {}

  void run() {
    const int64_t numTiles = (p_.numQueries + kBlockSide - 1) / kBlockSide;
    split_queries(0);
    score(0);
    split_queries(1);
    for (int64_t t = 0; t < numTiles; ++t) {
      start_softmax(t);
      const int64_t scoring = t + 1 < numTiles ? score_products(t + 1) : 0;
      const int64_t weighing = t > 0 ? weigh_products() : 0;
      productsLeft_ = scoring + weighing;
      if (scoring > 0) score(t + 1);
      if (weighing > 0) weigh(t - 1);
      finish_softmax();
      split_queries(t + 2);
    }
    weigh(numTiles - 1);
    while (sumsLeft_ > 0) add_sums();
  }

 private:
  int rows_of(int64_t tile) const { return static_cast<int>(std::clamp<int64_t>(p_.numQueries - tile * kBlockSide, 0, kBlockSide)); }
  int64_t score_products(int64_t) const {
    return (count_ + kBlockSide - 1) / kBlockSide * static_cast<int64_t>(shape_.keySteps.size()) * products_;
  }
  int64_t weigh_products() const {
    return static_cast<int64_t>(shape_.valueLayout.panels().size()) * (amx::padded_k(count_) / kStep) * products_;
  }

  void split_queries(int64_t tile) {
    const int64_t query = tile * kBlockSide;
    amx::split({p_.q + query * p_.qStep, p_.qStep, rows_of(tile), shape_.headDim, b_.queries[tile % 2],
                shape_.split_pitch(shape_.paddedDim), 2 * shape_.paddedDim, shape_.parts});
  }

  amx::Block block_of(const std::byte* rows, int64_t values, int64_t tile) const {
    amx::Block block{};
    block.partBytes = 2 * values;
    block.rowBytes = shape_.split_pitch(values);
    block.rows[0] = rows;
    block.rows[1] = rows_of(tile) > kSide ? rows + kSide * block.rowBytes : nullptr;
    block.parts = block.weightParts = shape_.parts;
    return block;
  }

  /** Multiplies with this block's share of the pieces that wait. */
  void multiply(const amx::Block& block) {
    const int64_t products = block.numSteps * products_;
    const int64_t share = productsLeft_ > 0 ? (softmaxLeft_ * products + productsLeft_ - 1) / productsLeft_ : 0;
    amx::Aside aside{next_piece, this, sumsLeft_ + std::min(softmaxLeft_, share)};
    productsLeft_ -= products;
    tiles_.multiply(block, aside);
  }

  /** scores = queries · keysᵀ of a tile. */
  void score(int64_t tile) {
    amx::Block block = block_of(b_.queries[tile % 2], shape_.paddedDim, tile);
    block.colTiles = 2;
    block.steps = shape_.keySteps.data();
    block.numSteps = static_cast<int64_t>(shape_.keySteps.size());
    block.sumsPitch = shape_.score_pitch();
    for (int64_t col = 0; col < count_; col += kBlockSide) {
      block.panel = b_.keys + col / kBlockSide * shape_.key_panel_bytes();
      block.sums = b_.scores[tile % 2] + col;
      multiply(block);
    }
  }

  /** Adds probabilities · values of a tile to y. */
  void weigh(int64_t tile) {
    amx::Block block = block_of(b_.probabilities[tile % 2], shape_.chunk, tile);
    block.numSteps = amx::padded_k(count_) / kStep;
    block.sumsPitch = kBlockSide;
    int parity = 0;
    for (const Panel& panel : shape_.valueLayout.panels()) {
      block.panel = b_.values + panel.firstVec * (shape_.chunk / kStep) * shape_.parts * kTileBytes;
      block.colTiles = panel.vecs;
      block.steps = shape_.valueSteps[panel.vecs - 1].data();
      block.sums = b_.sums[parity];
      multiply(block);
      pendingTile_ = tile;
      pendingPanel_ = &panel;
      pendingSums_ = block.sums;
      pendingRow_ = 0;
      sumsLeft_ = (rows_of(tile) + kPieceRows - 1) / kPieceRows;
      parity ^= 1;
    }
  }

  void start_softmax(int64_t tile) {
    const int64_t query = tile * kBlockSide;
    const int rows = rows_of(tile);
    const float* mask = nullptr;
    if (has_added(args_)) {
      for (int r = 0; r < rows; ++r) {
        read_added(args_, p_, query + r, firstKey_, count_, b_.mask + r * shape_.score_pitch());
      }
      mask = b_.mask;
    }
    cursor_ = {};
    cursor_.scores = b_.scores[tile % 2];
    cursor_.mask = mask;
    cursor_.pitch = shape_.score_pitch();
    cursor_.scale = args_.scale;
    for (int r = 0; r < rows; ++r) cursor_.keys[r] = seen_keys(args_, p_, query + r, firstKey_, count_);
    cursor_.paddedKeys = amx::padded_k(count_);
    cursor_.largest = b_.state.largest + query;
    cursor_.total = b_.state.total + query;
    cursor_.correction = b_.state.correction + query;
    cursor_.out = b_.probabilities[tile % 2];
    cursor_.outPitch = shape_.split_pitch(shape_.chunk);
    cursor_.partBytes = 2 * shape_.chunk;
    cursor_.parts = shape_.parts;
    softmaxLeft_ = rows * cursor_.pieces_per_row();
  }

  void finish_softmax() {
    for (; softmaxLeft_ > 0; --softmaxLeft_) cursor_.piece();
  }

  static void next_piece(void* state) {
    auto* self = static_cast<ChunkRun*>(state);
    if (self->sumsLeft_ > 0) return self->add_sums();
    self->cursor_.piece();
    --self->softmaxLeft_;
  }

  /** y = (y · correction + sums), divided by the total at the end, for some rows of the panel that waits. */
  void add_sums() {
    const TileCols& cols = pendingPanel_->cols;
    for (int r = pendingRow_; r < pendingRow_ + kPieceRows && r < rows_of(pendingTile_); ++r) {
      const int64_t query = pendingTile_ * kBlockSide + r;
      float* y = p_.y + query * p_.yStep + cols.outCol;
      const float total = b_.state.total[query];
      const float factor = !last_ ? 1.0f : total == 0 ? 0.0f : 1.0f / total;
      kernels_.accumulate(y, firstKey_ == 0 ? nullptr : y, b_.state.correction[query], pendingSums_ + r * kBlockSide, factor, cols.outCols);
    }
    pendingRow_ += kPieceRows;
    --sumsLeft_;
  }

  const amx::Tiles& tiles_;
  const AttentionArgs& args_;
  const AttentionAmxShape& shape_;
  const AttentionPiece& p_;
  const AttentionAmxBuffers& b_;
  const AttentionKernels& kernels_ = attention_kernels_of(Isa::avx512);
  int64_t firstKey_, count_;
  bool last_;
  int64_t products_ = amx::num_products(shape_.parts, shape_.parts);  // of a step
  int64_t productsLeft_ = 0;  // of the blocks that share the current softmax
  amx::SoftmaxCursor cursor_{};
  int64_t softmaxLeft_ = 0;
  // The panel of weighted sums that waits to be added to y.
  int64_t pendingTile_ = 0;
  const Panel* pendingPanel_ = nullptr;
  const float* pendingSums_ = nullptr;
  int pendingRow_ = 0;
  int64_t sumsLeft_ = 0;
};

class AttentionAmx final : public PreparedRow {
 public:
  AttentionAmx(const AttentionArgs& args, const amx::Engine& engine) : tiles_(*engine.tiles), args_(args), shape_(args, engine.parts) {}

  size_t scratch_bytes() const override { return static_cast<size_t>(shape_.scratch_bytes()); }

  const char* name() const override { return "attention_amx"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    const AttentionPieces pieces(args_, kMaxAmxQueries);
    pieces.clear_outside();
    pool.parallel_for(pieces.count(), [&](int64_t task, int worker) { attend(pieces.piece(task), shape_.buffers_in(scratch.of(worker))); });
  }

 private:
  void attend(const AttentionPiece& p, const AttentionAmxBuffers& b) const {
    start_softmax(p, b.state);
    const int64_t numKeys = p.numKeys;
    tiles_.begin();
    for (int64_t first = 0; first < numKeys; first += shape_.chunk) {
      const int64_t count = std::min(shape_.chunk, numKeys - first);
      pack_keys(p, first, count, b.keys);
      pack_values(p, first, count, b.values);
      ChunkRun(tiles_, args_, shape_, p, b, first, count, first + count == numKeys).run();
    }
    tiles_.end();
    finish_piece(p, shape_.headDim, numKeys > 0, b.state);
  }

  void pack_keys(const AttentionPiece& p, int64_t first, int64_t count, std::byte* out) const {
    for (int64_t col = 0; col < amx::padded_k(count); col += kSide) {
      // Panels of two tiles: an even tile starts a panel, an odd one is its second half.
      std::byte* at = out + col / kBlockSide * shape_.key_panel_bytes() + col / kSide % 2 * kTileBytes;
      const int64_t rows = std::clamp<int64_t>(count - col, 0, kSide);
      amx::pack_columns(
          {p.k + (first + col) * p.kStep, p.kStep, rows, shape_.headDim, at, shape_.key_step_bytes(), 2 * kTileBytes, shape_.parts});
    }
  }

  void pack_values(const AttentionPiece& p, int64_t first, int64_t count, std::byte* out) const {
    for (const Panel& panel : shape_.valueLayout.panels()) {
      const int64_t stepBytes = panel.vecs * shape_.parts * kTileBytes;
      std::byte* at = out + panel.firstVec * (shape_.chunk / kStep) * shape_.parts * kTileBytes;
      for (int64_t key = 0; key < count; key += kStep, at += stepBytes) {
        const int64_t rows = std::min<int64_t>(kStep, count - key);
        amx::pack_step({p.v + (first + key) * p.vStep + panel.cols.outCol, p.vStep, rows, panel.cols.outCols, at, stepBytes,
                        panel.vecs * kTileBytes, shape_.parts});
      }
    }
  }

  const amx::Tiles& tiles_;
  AttentionArgs args_;
  AttentionAmxShape shape_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_attention_amx(const AttentionArgs& args, const amx::Engine& engine) {
  return std::make_unique<AttentionAmx>(args, engine);
}

}  // namespace vd::cpu
