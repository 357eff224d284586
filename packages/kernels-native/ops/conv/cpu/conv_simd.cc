// Convolution as an implicit GEMM on the SIMD matrix kernel. A tile's rows are output pixels; for each tap a row is a
// pointer to the channels of one input pixel, or to zeros outside. Nothing is copied or unfolded. Taps whose pixels lie one behind
// the other, as in the rows of a patch, are one run with a pointer to the first.
#include <algorithm>

#include "../../../native/cpu/kernels.h"
#include "../../../native/cpu/panels.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "conv_fast.h"
#include "conv_geometry.h"

namespace vd::cpu {
namespace {

constexpr int kPackKind = 2;
/** Pixels that a task runs over while a panel stays in the cache. */
constexpr int64_t kBlockRows = 16 * kTileRows;

/** Taps [first, first + count) of a phase, whose channels follow each other in memory for every output pixel. */
struct TapRun {
  size_t first;
  int64_t count;
};

/** True if pixels of a line lie one behind the other and no tap leaves its line, whose zeros are elsewhere. */
bool has_whole_lines(const ConvArgs& args) {
  const int64_t channels = args.x.channels();
  const bool packed = args.x.pitch == channels && (!args.past.present() || args.past.pitch == channels);
  return packed && !args.transposed && !args.upsample && args.padding[4] == 0 && args.padding[5] == 0;
}

std::vector<TapRun> tap_runs(const ConvArgs& args, const std::vector<ConvTap>& taps) {
  const bool wholeLines = has_whole_lines(args);
  std::vector<TapRun> runs;
  for (size_t t = 0; t < taps.size(); ++t) {
    const bool follows = wholeLines && t > 0 && taps[t].f == taps[t - 1].f && taps[t].h == taps[t - 1].h;
    if (follows) ++runs.back().count;
    else runs.push_back({t, 1});
  }
  return runs;
}

struct Phase {
  ConvPhase shape;
  std::vector<TapRun> runs;
  PackedPanels panels;
  PackedBias bias;
};

class ConvSimd final : public PreparedRow {
 public:
  ConvSimd(const ConvArgs& args, PackCache& cache, Isa isa)
      : args_(args), clip_(args), kernels_(kernels_of(isa)), frameMap_(args.frameBias, args.y.dim(1), args.y.dim(2) * args.y.dim(3)) {
    const PanelLayout layout(args.y.channels(), false, kernels_.width, kernels_.maxVecs);
    for (ConvPhase& shape : conv_phases(args)) {
      const Tensor& w = args.weight;
      const int64_t k = static_cast<int64_t>(shape.taps.size()) * args.x.channels();
      const DType type = args.upsample ? DType::f32 : panel_type(w.dtype, w.count());
      PackIdentity identity{w.data, kPackKind, conv_facts(args, shape)};
      identity.facts.insert(identity.facts.end(), {static_cast<int64_t>(type), kernels_.width, kernels_.maxVecs});
      PackedPanels panels = pack_panels(cache, identity, layout, k, type, conv_rows(args, shape));
      std::vector<TapRun> runs = tap_runs(args, shape.taps);
      for (const TapRun& run : runs) zeros_.resize(std::max(zeros_.size(), static_cast<size_t>(run.count * args.x.channels())));
      phases_.push_back({std::move(shape), std::move(runs), std::move(panels), PackedBias(args.bias, layout)});
    }
  }

  size_t scratch_bytes() const override {
    size_t runs = 0;
    for (const Phase& phase : phases_) runs = std::max(runs, phase.runs.size());
    return runs * sizeof(GemmSegment);
  }

  const char* name() const override { return "conv_simd"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = epilogue_of(args_);
    for (Phase& phase : phases_) {
      epilogue.bias = phase.bias.ready();
      const int64_t rows = args_.y.dim(0) * args_.y.dim(1) * phase.shape.rows * phase.shape.cols;
      const int64_t numBlocks = (rows + kBlockRows - 1) / kBlockRows;
      const auto numPanels = static_cast<int64_t>(phase.panels.layout.panels().size());
      pool.parallel_for(numBlocks * numPanels, [&](int64_t task, int worker) {
        const int64_t first = (task / numPanels) * kBlockRows;
        const Panel& panel = phase.panels.layout.panels()[static_cast<size_t>(task % numPanels)];
        auto* segments = reinterpret_cast<GemmSegment*>(scratch.of(worker));
        run_panel(epilogue, phase, panel, first, std::min(rows, first + kBlockRows), segments);
      });
    }
  }

 private:
  /** Frame of x and first input position of one output pixel. */
  struct Origin {
    int64_t clip, frame, row, col;
  };

  void run_panel(const Epilogue& epilogue, const Phase& phase, const Panel& panel, int64_t first, int64_t end,
                 GemmSegment* segments) const {
    alignas(64) float sums[kTileRows * kMaxPanelCols];
    GemmTile tile{segments, 0, phase.panels.panel(panel), phase.panels.type, panel.vecs, sums, kMaxPanelCols};
    TileRows rows;
    Origin origins[kTileRows];
    for (int64_t m = first; m < end; m += kTileRows) {
      rows.count = static_cast<int>(std::min<int64_t>(kTileRows, end - m));
      for (int r = 0; r < kTileRows; ++r) locate(phase.shape, std::min(m + r, end - 1), r, rows, origins);
      tile.numSegments = gather(phase, origins, segments);
      kernels_.gemm_tile(tile);
      kernels_.store_tile(epilogue, sums, kMaxPanelCols, rows, 0, rows.count, panel.cols);
    }
  }

  void locate(const ConvPhase& shape, int64_t index, int r, TileRows& rows, Origin* origins) const {
    const int64_t col = index % shape.cols;
    const int64_t row = index / shape.cols % shape.rows;
    const int64_t clipFrame = index / (shape.cols * shape.rows);
    const int64_t frames = args_.y.dim(1);
    origins[r] = {clipFrame / frames, clipFrame % frames * shape.frameStep, row * shape.inRowStep, col * shape.inColStep};
    const int64_t outRow = shape.firstRow + row * shape.rowStep;
    const int64_t outCol = shape.firstCol + col * shape.colStep;
    rows.pixel[r] = (clipFrame * args_.y.dim(2) + outRow) * args_.y.dim(3) + outCol;
    rows.frame[r] = frameMap_.row(rows.pixel[r]);
  }

  /** Row pointers of each run of taps that any row has inside the input; says how many. */
  int64_t gather(const Phase& phase, const Origin* origins, GemmSegment* segments) const {
    const int64_t height = args_.x.dim(2), width = args_.x.dim(3);
    const int64_t channels = args_.x.channels();
    int64_t count = 0;
    for (const TapRun& run : phase.runs) {
      const ConvTap& tap = phase.shape.taps[run.first];
      GemmSegment& segment = segments[count];
      bool any = false;
      for (int r = 0; r < kTileRows; ++r) {
        const int64_t h = origins[r].row + tap.h, w = origins[r].col + tap.w;
        const ClipFrame frame = clip_.at(origins[r].clip, origins[r].frame + tap.f);
        const bool inside = frame.pixels != nullptr && h >= 0 && h < height && w >= 0 && w < width;
        segment.rows[r] = inside ? frame.pixels + (h * width + w) * frame.pitch : zeros_.data();
        any |= inside;
      }
      segment.k = run.count * channels;
      segment.panelRow = static_cast<int64_t>(run.first) * channels;
      count += any ? 1 : 0;
    }
    return count;
  }

  ConvArgs args_;
  ClipFrames clip_;
  const Kernels& kernels_;
  FrameMap frameMap_;
  std::vector<float> zeros_;
  std::vector<Phase> phases_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_conv_simd(const ConvArgs& args, PackCache& cache, Isa isa) {
  return std::make_unique<ConvSimd>(args, cache, isa);
}

}  // namespace vd::cpu
