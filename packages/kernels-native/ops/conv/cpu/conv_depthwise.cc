// Depthwise convolution: what limits it is memory, so pixels are read where they lie and each is used for all its taps while it
// is in the first-level cache. Products are added tap by tap, which gives the same bits in any chunk of a clip.
#include <algorithm>

#include "../../../native/cpu/kernels.h"
#include "../../../native/cpu/panels.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "conv_fast.h"
#include "conv_geometry.h"
#include "depthwise_kernels.h"

namespace vd::cpu {
namespace {

constexpr int kPackKind = 6;

struct Phase {
  ConvPhase shape;
  PackedPanels weights;  // per panel [taps, columns]
};

class ConvDepthwise final : public PreparedRow {
 public:
  ConvDepthwise(const ConvArgs& args, PackCache& cache, Isa isa)
      : args_(args),
        clip_(args),
        kernels_(kernels_of(isa)),
        sums_(depthwise_kernels_of(isa)),
        frameMap_(args.frameBias, args.y.dim(1), args.y.dim(2) * args.y.dim(3)) {
    const PanelLayout layout(args.y.channels(), false, kernels_.width, kernels_.maxVecs);
    for (ConvPhase& shape : conv_phases(args)) {
      PackIdentity identity{args.weight.data, kPackKind, conv_facts(args, shape)};
      identity.facts.insert(identity.facts.end(), {kernels_.width, kernels_.maxVecs});
      const auto k = static_cast<int64_t>(shape.taps.size());
      PackedPanels weights = pack_panels(cache, identity, layout, k, DType::f32, conv_rows(args, shape));
      phases_.push_back({std::move(shape), std::move(weights)});
    }
    bias_ = PackedBias(args.bias, layout);
  }

  size_t scratch_bytes() const override {
    size_t taps = 0;
    for (const Phase& phase : phases_) taps = std::max(taps, phase.shape.taps.size());
    return taps * (sizeof(DepthwiseTap) + sizeof(int64_t)) * kTileRows;
  }

  const char* name() const override { return "conv_depthwise"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = epilogue_of(args_);
    epilogue.bias = bias_.ready();
    for (const Phase& phase : phases_) {
      const int64_t lines = args_.y.dim(0) * args_.y.dim(1) * phase.shape.rows;
      pool.parallel_for(lines, [&](int64_t line, int worker) {
        auto* taps = reinterpret_cast<DepthwiseTap*>(scratch.of(worker));
        for (int64_t col = 0; col < phase.shape.cols; col += kTileRows)
          run_tile(epilogue, phase, line, col, std::min(phase.shape.cols, col + kTileRows), taps);
      });
    }
  }

 private:
  /** Taps of pixels that lie inside, of one tile row. */
  struct TapsOfPixel {
    DepthwiseTap* taps;
    int64_t* numbers;
    int64_t count;
  };

  /** Output columns [first, end) of one line of a phase. */
  void run_tile(const Epilogue& epilogue, const Phase& phase, int64_t line, int64_t first, int64_t end, DepthwiseTap* scratch) const {
    alignas(64) float sums[kTileRows * kMaxPanelCols];
    const ConvPhase& shape = phase.shape;
    const auto numTaps = static_cast<int64_t>(shape.taps.size());
    auto* numbers = reinterpret_cast<int64_t*>(scratch + numTaps * kTileRows);
    TapsOfPixel taps[kTileRows];
    TileRows rows;
    rows.count = static_cast<int>(end - first);
    for (int r = 0; r < rows.count; ++r) {
      const int64_t image = line / shape.rows, outRow = shape.firstRow + line % shape.rows * shape.rowStep;
      rows.pixel[r] = (image * args_.y.dim(2) + outRow) * args_.y.dim(3) + shape.firstCol + (first + r) * shape.colStep;
      rows.frame[r] = frameMap_.row(rows.pixel[r]);
      taps[r] = {scratch + r * numTaps, numbers + r * numTaps, 0};
      gather(shape, line, first + r, taps[r]);
    }
    for (const Panel& panel : phase.weights.layout.panels()) {
      const auto* weights = reinterpret_cast<const float*>(phase.weights.panel(panel));
      for (int r = 0; r < rows.count; ++r) {
        for (int64_t t = 0; t < taps[r].count; ++t) taps[r].taps[t].weights = weights + taps[r].numbers[t] * panel.cols.panelCols;
        sums_.sum_taps(taps[r].taps, taps[r].count, panel.cols.outCols, sums + r * kMaxPanelCols);
        for (int64_t t = 0; t < taps[r].count; ++t) taps[r].taps[t].pixel += panel.cols.outCols;
      }
      kernels_.store_tile(epilogue, sums, kMaxPanelCols, rows, 0, rows.count, panel.cols);
    }
  }

  /** The taps of one output pixel that lie inside, with their pixels at channel 0. */
  void gather(const ConvPhase& shape, int64_t line, int64_t col, TapsOfPixel& out) const {
    const int64_t image = line / shape.rows, frames = args_.y.dim(1), height = args_.x.dim(2), width = args_.x.dim(3);
    for (size_t t = 0; t < shape.taps.size(); ++t) {
      const ConvTap& tap = shape.taps[t];
      const int64_t h = line % shape.rows * shape.inRowStep + tap.h, w = col * shape.inColStep + tap.w;
      if (h < 0 || h >= height || w < 0 || w >= width) continue;
      const ClipFrame frame = clip_.at(image / frames, image % frames * shape.frameStep + tap.f);
      if (frame.pixels == nullptr) continue;
      out.taps[out.count].pixel = frame.pixels + (h * width + w) * frame.pitch;
      out.numbers[out.count++] = static_cast<int64_t>(t);
    }
  }

  ConvArgs args_;
  ClipFrames clip_;
  const Kernels& kernels_;
  const DepthwiseKernels& sums_;
  FrameMap frameMap_;
  std::vector<Phase> phases_;
  PackedBias bias_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_conv_depthwise(const ConvArgs& args, PackCache& cache, Isa isa) {
  return std::make_unique<ConvDepthwise>(args, cache, isa);
}

}  // namespace vd::cpu
