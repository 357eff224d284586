// Convolution as an implicit GEMM on the SIMD matrix kernel. A tile's rows are output pixels; for each tap a row is a
// pointer to the channels of one input pixel, or to zeros outside. Nothing is copied or unfolded. Taps whose pixels lie one behind
// the other, as in the rows of a patch, are one run with a pointer to the first.
//
// Log: bests of 24 runs on two cores of a Cascade Lake, alternately with and without.
//   28x16x16, 64 -> 4 channels, 3x3       2.12 ms on the matrix kernel, of whose vectors four lanes count; 0.74 with vectors over k
//   28x16x16, 64 -> 64 channels, 3x1x1    1.52 ms with divisions for every pixel's place; 1.22 by counting, a frame as one line
//   28x16x16, 8 -> 64 channels, 3x3       1.26 ms; 0.83, the same
// Two cores of a Zen 5, bests of 16 runs:
//   14x128x128, 64 -> 64 channels, 3x1x1  17.7 ms; 13.6 with fetching ahead, from whatever distance of one to four tiles
#include <algorithm>
#include <iterator>

#include "../../../native/cpu/fetch.h"
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
/** Blocks of a frame from which on a task takes the same block of all frames of a clip. */
constexpr int64_t kFewestStrips = 16;
/** Pixels between those of a tile and those that are fetched meanwhile. */
constexpr int64_t kReadAhead = 2 * kTileRows, kWriteAhead = kTileRows;

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

/** A tensor [B,F,H,W,C] with each frame as one line, if there is one. */
void join_lines(Tensor& t) {
  if (!t.present()) return;
  t.dims[3] *= t.dims[2];
  t.dims[2] = 1;
}

/** The same convolution over frames of one line where taps lie in other frames only: tiles then seldom straddle lines. */
ConvArgs with_long_lines(ConvArgs a) {
  const bool overFrames = a.weight.dim(3) == 1 && a.weight.dim(4) == 1 && a.stride[1] == 1 && a.stride[2] == 1 && !a.upsample;
  const bool padded = std::any_of(a.padding + 2, std::end(a.padding), [](int64_t size) { return size != 0; });
  if (!overFrames || a.transposed || padded) return a;
  for (Tensor* t : {&a.x, &a.past, &a.residual, &a.residual2, &a.y}) join_lines(*t);
  return a;
}

/** True if vectors run over the channels of x, since there are too few of y to fill one. Chosen by measuring, see above. */
bool is_narrow(const ConvArgs& args, int width) { return args.y.channels() <= kMaxDotCols && args.x.channels() >= width; }

struct Phase {
  ConvPhase shape;
  std::vector<TapRun> runs;
  PackedPanels panels;  // of a narrow one per column [k]
  PackedBias bias;
};

class ConvSimd final : public PreparedRow {
 public:
  ConvSimd(const ConvArgs& args, PackCache& cache, Isa isa)
      : args_(args),
        clip_(args),
        kernels_(kernels_of(isa)),
        frameMap_(args.frameBias, args.y.dim(1), args.y.dim(2) * args.y.dim(3)),
        layout_(args.y.channels(), false, kernels_.width, kernels_.maxVecs),
        isNarrow_(is_narrow(args, kernels_.width)) {
    const PanelLayout columns(args.y.channels(), false, 1, 1);
    const PanelLayout& packed = isNarrow_ ? columns : layout_;
    for (ConvPhase& shape : conv_phases(args)) {
      const Tensor& w = args.weight;
      const int64_t k = static_cast<int64_t>(shape.taps.size()) * args.x.channels();
      const DType type = args.upsample || isNarrow_ ? DType::f32 : panel_type(w.dtype, w.count());
      PackIdentity identity{w.data, kPackKind, conv_facts(args, shape)};
      identity.facts.insert(identity.facts.end(), {static_cast<int64_t>(type), packed.width(), kernels_.maxVecs});
      PackedPanels panels = pack_panels(cache, identity, packed, k, type, conv_rows(args, shape));
      std::vector<TapRun> runs = tap_runs(args, shape.taps);
      for (const TapRun& run : runs) zeros_.resize(std::max(zeros_.size(), static_cast<size_t>(run.count * args.x.channels())));
      phases_.push_back({std::move(shape), std::move(runs), std::move(panels), PackedBias(args.bias, layout_)});
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
      const auto numPanels = static_cast<int64_t>(layout_.panels().size());
      const Blocks blocks = blocks_of(phase.shape);
      pool.parallel_for(blocks.count() * numPanels, [&](int64_t task, int worker) {
        const Panel& panel = layout_.panels()[static_cast<size_t>(task % numPanels)];
        auto* segments = reinterpret_cast<GemmSegment*>(scratch.of(worker));
        const int64_t line = task / numPanels / blocks.perLine, first = task / numPanels % blocks.perLine * kBlockRows;
        for (int64_t frame = 0; frame < blocks.frames; ++frame) {
          const int64_t start = (line * blocks.frames + frame) * blocks.rows;
          const Pixels pixels{start + first, start + std::min(blocks.rows, first + kBlockRows), blocks.frames > 1};
          run_panel(epilogue, phase, panel, pixels, segments);
        }
      });
    }
  }

 private:
  /** Output pixels cut into tasks: lines of `rows` pixels, of which a task takes a block in `frames` lines one behind the other. */
  struct Blocks {
    int64_t lines, frames, rows, perLine;
    int64_t count() const { return lines / frames * perLine; }
  };
  /** Pixels of large frames are taken through all frames of a clip: what taps over frames read again is then in the cache. */
  Blocks blocks_of(const ConvPhase& shape) const {
    const int64_t images = args_.y.dim(0) * args_.y.dim(1), pixels = shape.rows * shape.cols;
    const int64_t perFrame = (pixels + kBlockRows - 1) / kBlockRows;
    if (args_.weight.dim(2) > 1 && perFrame >= kFewestStrips) return {images, args_.y.dim(1), pixels, perFrame};
    return {1, 1, images * pixels, (images * pixels + kBlockRows - 1) / kBlockRows};
  }

  /** Output pixels [first, end) of a phase; those of a strip are taken through all frames. */
  struct Pixels {
    int64_t first, end;
    bool inStrip;
  };
  /** An output pixel of a phase. */
  struct Place {
    int64_t clip, frame, row, col;
  };
  /** Frame of x and first input position of one output pixel. */
  struct Origin {
    int64_t clip, frame, row, col;
  };

  void run_panel(const Epilogue& epilogue, const Phase& phase, const Panel& panel, const Pixels& pixels, GemmSegment* segments) const {
    // What is behind a few columns is read with them, though nothing becomes of it.
    alignas(64) float sums[kTileRows * kMaxPanelCols] = {};
    TileRows rows;
    Origin origins[kTileRows];
    Place place = place_of(phase.shape, pixels.first);
    for (int64_t m = pixels.first; m < pixels.end; m += kTileRows) {
      rows.count = static_cast<int>(std::min<int64_t>(kTileRows, pixels.end - m));
      for (int r = 0; r < kTileRows; ++r) {
        locate(phase.shape, place, r, rows, origins);
        // Rows beyond the end repeat the last one; their sums are dropped.
        if (m + r + 1 < pixels.end) advance(phase.shape, place);
      }
      const int64_t count = gather(phase, origins, segments);
      if (pixels.inStrip && count > 0) fetch_ahead(epilogue, panel, segments[count - 1], rows);
      multiply(epilogue, phase, panel, segments, count, rows, sums);
    }
  }

  /** Fetches for later tiles of a strip what is in no cache: pixels of the last frame that is read, what is added, and where results go. */
  inline __attribute__((always_inline)) void fetch_ahead(const Epilogue& epilogue, const Panel& panel, const GemmSegment& last,
                                                         const TileRows& rows) const {
    for (int r = 0; r < kTileRows; ++r) {
      fetch(last.rows[r] + kReadAhead * args_.x.pitch, args_.x.channels());
      const int64_t pixel = rows.pixel[r] + kWriteAhead;
      fetch(epilogue.y + pixel * epilogue.yPitch + panel.cols.outCol, panel.cols.outCols);
      if (epilogue.residual) fetch(epilogue.residual + pixel * epilogue.residualPitch + panel.cols.outCol, panel.cols.outCols);
    }
  }

  Place place_of(const ConvPhase& shape, int64_t index) const {
    const int64_t image = index / (shape.cols * shape.rows), frames = args_.y.dim(1);
    return {image / frames, image % frames, index / shape.cols % shape.rows, index % shape.cols};
  }

  /** The pixel behind: by counting, since divisions take longer than a pixel's products with a few taps. */
  void advance(const ConvPhase& shape, Place& place) const {
    if (++place.col < shape.cols) return;
    place.col = 0;
    if (++place.row < shape.rows) return;
    place.row = 0;
    if (++place.frame < args_.y.dim(1)) return;
    place.frame = 0;
    ++place.clip;
  }

  /** Results of one tile, by way of sums [kTileRows, kMaxPanelCols]. */
  void multiply(const Epilogue& epilogue, const Phase& phase, const Panel& panel, const GemmSegment* segments, int64_t count,
                const TileRows& rows, float* sums) const {
    const PackedPanels& panels = phase.panels;
    if (!isNarrow_) {
      const GemmTile tile{segments, count, panels.panel(panel), panels.type, panel.vecs, sums, kMaxPanelCols};
      return kernels_.gemm_store(tile, epilogue, rows, panel.cols);
    }
    const auto* columns = reinterpret_cast<const float*>(panels.block->data());
    kernels_.dot_tile({segments, count, columns, panels.k, panel.cols.outCols, sums, kMaxPanelCols});
    kernels_.store_tile(epilogue, sums, kMaxPanelCols, rows, 0, rows.count, panel.cols);
  }

  void locate(const ConvPhase& shape, const Place& at, int r, TileRows& rows, Origin* origins) const {
    origins[r] = {at.clip, at.frame * shape.frameStep, at.row * shape.inRowStep, at.col * shape.inColStep};
    const int64_t outRow = shape.firstRow + at.row * shape.rowStep;
    const int64_t outCol = shape.firstCol + at.col * shape.colStep;
    rows.pixel[r] = ((at.clip * args_.y.dim(1) + at.frame) * args_.y.dim(2) + outRow) * args_.y.dim(3) + outCol;
    rows.frame[r] = frameMap_.row(at.clip, at.frame);
  }

  /** Row pointers of each run of taps that any row has inside the input; says how many. */
  int64_t gather(const Phase& phase, const Origin* origins, GemmSegment* segments) const {
    const Origin &head = origins[0], &tail = origins[kTileRows - 1];
    const bool oneLine = head.clip == tail.clip && head.frame == tail.frame && head.row == tail.row;
    int64_t count = 0;
    for (const TapRun& run : phase.runs) {
      const ConvTap& tap = phase.shape.taps[run.first];
      GemmSegment& segment = segments[count];
      segment.k = run.count * args_.x.channels();
      segment.panelRow = static_cast<int64_t>(run.first) * args_.x.channels();
      count += (oneLine ? gather_line(tap, origins, segment) : gather_pixels(tap, origins, segment)) ? 1 : 0;
    }
    return count;
  }

  /** Row pointers of a tap for pixels of one line; false if all lie outside. */
  bool gather_line(const ConvTap& tap, const Origin* origins, GemmSegment& segment) const {
    const Origin& head = origins[0];
    const int64_t h = head.row + tap.h, width = args_.x.dim(3);
    if (h < 0 || h >= args_.x.dim(2)) return false;
    const ClipFrame frame = clip_.at(head.clip, head.frame + tap.f);
    if (frame.pixels == nullptr) return false;
    const float* line = frame.pixels + h * width * frame.pitch;
    if (head.col + tap.w >= 0 && origins[kTileRows - 1].col + tap.w < width) {
      for (int r = 0; r < kTileRows; ++r) segment.rows[r] = line + (origins[r].col + tap.w) * frame.pitch;
      return true;
    }
    bool any = false;
    for (int r = 0; r < kTileRows; ++r) {
      const int64_t w = origins[r].col + tap.w;
      const bool inside = w >= 0 && w < width;
      segment.rows[r] = inside ? line + w * frame.pitch : zeros_.data();
      any |= inside;
    }
    return any;
  }

  /** The same for pixels of several lines. */
  bool gather_pixels(const ConvTap& tap, const Origin* origins, GemmSegment& segment) const {
    const int64_t height = args_.x.dim(2), width = args_.x.dim(3);
    bool any = false;
    for (int r = 0; r < kTileRows; ++r) {
      const int64_t h = origins[r].row + tap.h, w = origins[r].col + tap.w;
      const ClipFrame frame = clip_.at(origins[r].clip, origins[r].frame + tap.f);
      const bool inside = frame.pixels != nullptr && h >= 0 && h < height && w >= 0 && w < width;
      segment.rows[r] = inside ? frame.pixels + (h * width + w) * frame.pitch : zeros_.data();
      any |= inside;
    }
    return any;
  }

  ConvArgs args_;
  ClipFrames clip_;
  const Kernels& kernels_;
  FrameMap frameMap_;
  PanelLayout layout_;
  bool isNarrow_;
  std::vector<float> zeros_;
  std::vector<Phase> phases_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_conv_simd(const ConvArgs& args, PackCache& cache, Isa isa) {
  return std::make_unique<ConvSimd>(with_long_lines(args), cache, isa);
}

}  // namespace vd::cpu
