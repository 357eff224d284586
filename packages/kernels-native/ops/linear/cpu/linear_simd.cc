// Linear layers on the SIMD matrix kernel: y = epilogue([x | x2] · weightᵀ).
//
// Log: tiny-svd's layers to 64 channels with a residual, 7168 rows, two cores of a Zen 5, bests of 64 runs: proj_out 223 us, 150 with its
// residual fetched a tile ahead; ff.net.2 with two of them 601, 524. What lost: y fetched as well (154, 540), and x (154, 574).
#include <algorithm>

#include "../../../native/core/activation.h"
#include "../../../native/cpu/fetch.h"
#include "../../../native/cpu/kernels.h"
#include "../../../native/cpu/panels.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "linear_fast.h"

namespace vd::cpu {
namespace {

constexpr int kPackKind = 1;
/** Rows that a task runs over while a panel stays in the cache. */
constexpr int64_t kBlockRows = 16 * kTileRows;

class LinearSimd final : public PreparedRow {
 public:
  LinearSimd(const LinearArgs& args, PackCache& cache, Isa isa)
      : args_(args), kernels_(kernels_of(isa)), frameMap_(args.frameBias, args.x.dim(1), args.x.dim(2)) {
    const bool gated = is_gated(args.act);
    const PanelLayout layout(args.y.channels(), gated, kernels_.width, kernels_.maxVecs);
    const Tensor& w = args.weight;
    const int64_t k = w.channels();
    const DType type = panel_type(w.dtype, w.count());
    const PackIdentity identity{
        w.data,
        kPackKind,
        {w.dim(0), k, w.pitch, static_cast<int64_t>(w.dtype), static_cast<int64_t>(type), gated, kernels_.width, kernels_.maxVecs}};
    panels_ = pack_panels(cache, identity, layout, k, type, linear_rows(w));
    bias_ = PackedBias(args.bias, layout);
  }

  const char* name() const override { return "linear_simd"; }
  void run(ThreadPool& pool, const Scratch&) override {
    Epilogue epilogue = epilogue_of(args_);
    epilogue.bias = bias_.ready();
    const int64_t rows = args_.y.pixels();
    const int64_t numBlocks = (rows + kBlockRows - 1) / kBlockRows;
    const auto numPanels = static_cast<int64_t>(panels_.layout.panels().size());
    pool.parallel_for(numBlocks * numPanels, [&](int64_t task, int) {
      const int64_t first = (task / numPanels) * kBlockRows;
      const Panel& panel = panels_.layout.panels()[static_cast<size_t>(task % numPanels)];
      run_panel(epilogue, panel, first, std::min(rows, first + kBlockRows));
    });
  }

 private:
  void run_panel(const Epilogue& epilogue, const Panel& panel, int64_t first, int64_t end) const {
    alignas(64) float sums[kTileRows * kMaxPanelCols];
    GemmSegment segments[2];
    const int numSegments = fill_segments(segments);
    const GemmTile tile{segments, numSegments, panels_.panel(panel), panels_.type, panel.vecs, sums, kMaxPanelCols};
    TileRows rows;
    for (int64_t m = first; m < end; m += kTileRows) {
      rows.count = static_cast<int>(std::min<int64_t>(kTileRows, end - m));
      for (int r = 0; r < kTileRows; ++r) {
        // Rows beyond the end repeat the last one; their sums are dropped.
        const int64_t pixel = std::min(m + r, end - 1);
        segments[0].rows[r] = args_.x.as<float>() + pixel * args_.x.pitch;
        if (numSegments == 2) segments[1].rows[r] = args_.x2.as<float>() + pixel * args_.x2.pitch;
        rows.pixel[r] = pixel;
        rows.frame[r] = frameMap_.row(pixel);
      }
      if (epilogue.residual) fetch_residuals(epilogue, panel.cols, rows);
      kernels_.gemm_store(tile, epilogue, rows, panel.cols);
    }
  }

  /** Fetches what is added to the next tile's results: other than x and y it is seldom in a cache. */
  static inline __attribute__((always_inline)) void fetch_residuals(const Epilogue& e, const TileCols& cols, const TileRows& rows) {
    for (int r = 0; r < kTileRows; ++r) {
      const int64_t pixel = rows.pixel[r] + kTileRows;
      fetch(e.residual + pixel * e.residualPitch + cols.outCol, cols.outCols);
      if (e.residual2) fetch(e.residual2 + pixel * e.residual2Pitch + cols.outCol, cols.outCols);
    }
  }

  int fill_segments(GemmSegment* segments) const {
    segments[0].k = args_.x.channels();
    segments[0].panelRow = 0;
    if (!args_.x2.present()) return 1;
    segments[1].k = args_.x2.channels();
    segments[1].panelRow = segments[0].k;
    return 2;
  }

  LinearArgs args_;
  const Kernels& kernels_;
  FrameMap frameMap_;
  PackedPanels panels_;
  PackedBias bias_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_linear_simd(const LinearArgs& args, PackCache& cache, Isa isa) {
  return std::make_unique<LinearSimd>(args, cache, isa);
}

}  // namespace vd::cpu
