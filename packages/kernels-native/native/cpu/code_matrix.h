// A weight matrix of 8-bit codes, packed for the matrix kernels of 8-bit codes; and what its products with rows of codes share: linear
// layers and convolutions are one loop over tiles each.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "code_tiles.h"
#include "pack_cache.h"
#include "panels.h"
#include "tile_epilogue.h"

namespace vd::cpu {

/** Writes the codes of row `n` of a weight matrix, those of each filter position one behind the other. */
using CodeSource = std::function<void(int64_t n, uint8_t* row)>;

/** Channels of one filter position that a segment multiplies, and which sum they belong to. */
struct CodeChunk {
  int64_t tap, firstChannel, channels;
  int64_t panelGroup;
  int64_t sum;
};

/** What a matrix is made of. */
struct CodeMatrixSpec {
  Tensor weight;       // constant codes
  Tensor weightScale;  // constant [1|N, 1|blocks]
  int64_t outCols;     // of y: half of the rows with a gated activation
  bool gated;
  int64_t taps, channels;
  int64_t block;  // channels that have scales of their own, or 0: then the scale of a row is that of its only block
  int packKind;   // tells layouts of the weight apart
  CodeSource rows;
};

class CodeMatrix {
 public:
  /** isa: one that the machine has. tiles: the kernel, by default the fastest. */
  CodeMatrix(const CodeMatrixSpec& spec, PackCache& cache, Isa isa)
      : CodeMatrix(spec, cache, isa, code_tiles_for(spec.weight.dtype, isa)) {}
  CodeMatrix(const CodeMatrixSpec& spec, PackCache& cache, Isa isa, const CodeTiles& tiles);

  const CodeTiles& tiles() const { return tiles_; }
  const PanelLayout& layout() const { return layout_; }
  /** Bytes of a row of one filter position, as `stage` makes it. */
  int64_t row_bytes() const { return rowGroups_ * 4; }
  size_t segment_bytes() const { return chunks_.size() * sizeof(CodeSegment); }
  /** Copies the codes of one row of one filter position for the products. */
  void stage(const uint8_t* codes, std::byte* row) const;
  /** A staged row of zeros. */
  const std::byte* zeros() const { return zeros_.data(); }

  /** sums [kTileRows, kMaxPanelCols] of a panel, scaled. rowsOf(tap, rows): finds a tile's staged rows of a filter position, false if all
   * are zeros; scalesOf(sum, scales): factors of the rows for a sum. Which products are added up together follows from the matrix alone. */
  template <class Rows, class Scales>
  void multiply(const Panel& panel, CodeSegment* segments, const Rows& rowsOf, const Scales& scalesOf, float* sums) const {
    float rowScales[kTileRows];
    CodeTile tile{segments, 0, panel_of(panel), panel.vecs, rowScales, nullptr, sums, kMaxPanelCols, false};
    int64_t sum = 0, tap = -1;
    const auto add = [&] {
      scalesOf(sum, rowScales);
      tile.colScales = scales_of(panel, sum);
      tiles_.tile(tile);
      tile.adds = true;
      tile.numSegments = 0;
    };
    const std::byte* rows[kTileRows] = {};
    bool inside = false;
    for (const CodeChunk& chunk : chunks_) {
      if (chunk.sum != sum && tile.numSegments > 0) add();
      sum = chunk.sum;
      if (chunk.tap != tap) inside = rowsOf(tap = chunk.tap, rows);
      if (!inside) continue;
      CodeSegment& segment = segments[tile.numSegments++];
      for (int r = 0; r < kTileRows; ++r) segment.rows[r] = rows[r] + chunk.firstChannel * 4 / tiles_.group;
      segment.groups = groups_of(chunk.channels);
      segment.panelGroup = chunk.panelGroup;
    }
    if (tile.numSegments > 0 || !tile.adds) add();
  }

 private:
  int64_t groups_of(int64_t channels) const { return (channels + tiles_.group - 1) / tiles_.group; }
  void cut(const CodeMatrixSpec& spec);
  void pack_panel(const CodeMatrixSpec& spec, const Panel& panel, std::byte* out) const;
  void pack_column(const uint8_t* row, std::byte* column, int64_t step) const;
  void pack_scales(const CodeMatrixSpec& spec);
  const std::byte* panel_of(const Panel& p) const { return block_->data() + p.firstVec * layout_.width() * panelGroups_ * tiles_.colBytes; }
  const float* scales_of(const Panel& p, int64_t sum) const {
    return scales_.data() + (sumScales_ ? sum : 0) * layout_.packed_cols() + p.cols.packedCol;
  }

  const CodeTiles& tiles_;
  const CodeKernels& kernels_;
  PanelLayout layout_;
  DType type_;
  int64_t channels_, rowGroups_;
  int64_t panelGroups_ = 0;
  bool sumScales_;  // each sum has column scales of its own
  std::vector<CodeChunk> chunks_;
  std::shared_ptr<AlignedBlock> block_;
  std::vector<float> scales_;  // [sums or 1, packed columns]
  std::vector<std::byte> zeros_;
};

/** Rows that a task runs over while a panel stays in the cache. */
inline constexpr int64_t kCodeBlockRows = 16 * kTileRows;
/** Bytes of rows that are copied at a time, for all threads. */
inline constexpr int64_t kStagedBytes = int64_t{16} << 20;

/** Writes tiles to y: numbers, or their codes with one scale. */
class CodeTileWriter {
 public:
  /** yScale: [1,1,1,1], or absent where y is float32. */
  CodeTileWriter(const Epilogue& epilogue, const Tensor& y, const Tensor& yScale, Isa isa);
  /** Floats that a worker needs while a tile becomes codes. */
  static size_t line_bytes(const Tensor& y) {
    return y.dtype == DType::f32 ? 0 : static_cast<size_t>(y.channels() + kMaxPanelCols) * sizeof(float);
  }
  void write(const float* sums, const TileRows& rows, const TileCols& cols, float* line) const;

 private:
  const Kernels& kernels_;
  const CodeKernels& codeKernels_;
  Epilogue epilogue_;
  Tensor y_;
  float inverse_ = 1;
};

/** True where the fast paths of products of codes serve these arguments: constant weights with constant scales, float32 beside the codes.
 */
template <class Args> bool code_products_supported(const Args& a) {
  const bool isFloat = a.y.dtype == DType::f32 || a.y.dtype == DType::f8e4m3 || a.y.dtype == DType::i8;
  return isFloat && absent_or_f32(a.frameBias) && absent_or_f32(a.residual) && absent_or_f32(a.residual2) && a.weight.constant &&
         a.weightScale.constant && a.weight.dtype == a.x.dtype;
}

}  // namespace vd::cpu
