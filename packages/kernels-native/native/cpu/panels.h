// How a weight matrix [N, k] is cut into column panels, and its packing for the SIMD kernel.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels.h"
#include "pack_cache.h"

namespace vd::cpu {

/** Where a weight matrix comes from: writes row `n` [k] as floats, k in the order in which tiles run over it. */
using RowSource = std::function<void(int64_t n, float* row)>;

/** Columns of one panel and where its weights begin. */
struct Panel {
  TileCols cols;
  int vecs = 0;
  int64_t firstVec = 0;  // vectors of columns before this panel
};

/** A cut of N columns into panels of at most `maxVecs` vectors; with a gated activation each panel holds values, then their gates. */
class PanelLayout {
 public:
  PanelLayout() = default;
  /** `outCols`: columns of y, half of N with a gated activation. */
  PanelLayout(int64_t outCols, bool gated, int width, int maxVecs);

  const std::vector<Panel>& panels() const { return panels_; }
  int64_t packed_cols() const { return packedVecs_ * width_; }
  int64_t packed_vecs() const { return packedVecs_; }
  int width() const { return width_; }
  /** Row of the weight matrix behind a panel's column, or -1 for padding. */
  int64_t source_row(const Panel& panel, int col) const;

 private:
  int64_t outCols_ = 0;
  bool gated_ = false;
  int width_ = 0;
  int64_t packedVecs_ = 0;
  std::vector<Panel> panels_;
};

/** Weights packed for the SIMD kernel: per panel [k, columns]. */
struct PackedPanels {
  PanelLayout layout;
  int64_t k = 0;
  DType type = DType::f32;
  std::shared_ptr<AlignedBlock> block;

  const std::byte* panel(const Panel& p) const { return block->data() + p.firstVec * layout.width() * k * bytes_of(type); }
};

/** Identity of a packing: everything that decides its bytes, so that equal keys mean equal packings. */
struct PackIdentity {
  const void* source;
  int kind;
  std::vector<int64_t> facts;
  PackCache::Key key() const;
};

/** Element type in which a weight of `type` and `count` elements is kept: small ones as f32, which is fastest; beyond
 *  4 MiB as stored, since then memory decides both speed and whether the model fits. */
DType panel_type(DType type, int64_t count);

/** Calls write(panel) for every panel of a packing, on the cache's workers: panels lie apart. */
template <class Write> void write_panels(PackCache& cache, const PanelLayout& layout, const Write& write) {
  const std::vector<Panel>& panels = layout.panels();
  cache.in_parts(static_cast<int64_t>(panels.size()), [&](int64_t i) { write(panels[static_cast<size_t>(i)]); });
}

/** Packs through the cache. `rows` is called by several threads at once. */
PackedPanels pack_panels(PackCache& cache, const PackIdentity& identity, const PanelLayout& layout, int64_t k, DType type,
                         const RowSource& rows);

/** Copies a bias [N] of any float type into packed column order, zeros in the padding. */
std::vector<float> pack_bias(const Tensor& bias, const PanelLayout& layout);

}  // namespace vd::cpu
