// Convolution of stride 1 with 3x3 taps of a frame by Winograd's F(2x2, 3x3) on the SIMD matrix kernel: sixteen products
// of small matrices instead of thirty-six for a tile of 2 x 2 outputs. Taps over frames add up in the same products. For
// instruction sets without matrix tiles.
//
// A tile's transforms mix its sixteen inputs, so that one which is not finite, or overflows on the way, reaches outputs
// whose window it is not in. Those are computed again by the formula: see mend.
//
// Log: 28x16x16, 64 -> 64 channels, one core of Sapphire Rapids; relative L2 against float64 on random data.
//   direct, AVX-512    3,273 us   4.5e-7 (9.6e-7 at 320 channels)
//   F(2x2), AVX-512    1,822 us   2.7e-7 (5.4e-7): shorter sums make up for the transforms' rounding
//   F(2x2), AVX2       3,293 us   against 5,847 us
// The same on two cores of a Cascade Lake: 2.16 ms with divisions for every tile's place, 1.54 by counting (bests of 24 runs).
// What lost: F(4x4), a quarter of the products, has an error of 1.8e-6 (3.5e-6) with the points 0, ±1, ±2 and 8.3e-7
// (1.7e-6) with 0, ±3/4, ±3/2. The latter may be worth its transforms one day; the former is too much for nets of forty
// convolutions that have to stay within 1e-5.
#include <algorithm>
#include <cmath>

#include "../../../native/core/float_element.h"
#include "../../../native/cpu/kernels.h"
#include "../../../native/cpu/panels.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "conv_fast.h"
#include "conv_geometry.h"
#include "winograd_kernels.h"

namespace vd::cpu {
namespace {

constexpr int kPackKind = 5;
constexpr int kPoints = 16;
/** Taps over frames. */
constexpr int64_t kMaxTaps = 3;
/** Transformed input of a task: what leaves room for weights in the second-level cache. */
constexpr int64_t kInputBytes = int64_t{512} << 10;
/** Tiles of a task, whole tiles of the matrix kernel. */
constexpr int64_t kFewestTiles = 4 * kTileRows, kMostTiles = 16 * kTileRows;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/** G·g·Gᵀ of every filter of an output channel, [16, T, C]: the rows of G are (1,0,0) (½,½,½) (½,-½,½) (0,0,1). */
RowSource winograd_rows(const Tensor& weight) {
  return [weight](int64_t n, float* row) {
    const int64_t channels = weight.dim(1), frames = weight.dim(2);
    const auto points = [](const double* g, int step, double* out, int outStep) {
      const double outer = g[0] + g[2 * step], inner = g[step];
      out[0] = g[0];
      out[outStep] = (outer + inner) / 2;
      out[2 * outStep] = (outer - inner) / 2;
      out[3 * outStep] = g[2 * step];
    };
    for (int64_t at = 0; at < frames * channels; ++at) {
      const int64_t t = at / channels, c = at % channels;
      double g[9], half[12], full[16];
      for (int64_t i = 0; i < 9; ++i) {
        const int64_t line = ((n * channels + c) * frames + t) * 3 + i / 3;
        g[i] = load_element(weight.data, weight.dtype, line * weight.pitch + i % 3);
      }
      for (int col = 0; col < 3; ++col) points(g + col, 3, half + col, 3);
      for (int r = 0; r < 4; ++r) points(half + 3 * r, 1, full + 4 * r, 1);
      for (int64_t i = 0; i < kPoints; ++i) row[i * frames * channels + at] = static_cast<float>(full[i]);
    }
  };
}

/** True if no value is infinite or no number. */
bool all_finite(const float* values, int64_t count) {
  return std::all_of(values, values + count, [](float value) { return std::isfinite(value); });
}

class ConvWinograd final : public PreparedRow {
 public:
  ConvWinograd(const ConvArgs& args, PackCache& cache, Isa isa)
      : args_(args),
        clip_(args),
        firstFrame_(-args.padding[0] - (args.past.present() ? args.past.dim(1) : 0)),
        kernels_(kernels_of(isa)),
        transforms_(winograd_kernels_of(isa)),
        frameMap_(args.frameBias, args.y.dim(1), args.y.dim(2) * args.y.dim(3)),
        zeros_(static_cast<size_t>(args.x.channels()), 0.0f),
        channels_(args.x.channels()),
        taps_(args.weight.dim(2)),
        pitch_(round_up(channels_, kernels_.width)),
        tileRows_((args.y.dim(2) + 1) / 2),
        tileCols_((args.y.dim(3) + 1) / 2),
        tiles_(std::clamp(kInputBytes / (4 * kPoints * taps_ * pitch_ * kTileRows) * kTileRows, kFewestTiles, kMostTiles)) {
    const Tensor& w = args.weight;
    const PanelLayout layout(args.y.channels(), false, kernels_.width, kernels_.maxVecs);
    const auto type = static_cast<int64_t>(w.dtype);
    const PackIdentity identity{w.data, kPackKind, {w.dim(0), channels_, taps_, w.pitch, type, kernels_.width, kernels_.maxVecs}};
    panels_ = pack_panels(cache, identity, layout, kPoints * taps_ * channels_, DType::f32, winograd_rows(w));
    bias_ = PackedBias(args.bias, layout);
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(kPoints * tiles_ * (taps_ * pitch_ + kMaxPanelCols) + 4 * kMaxPanelCols) * sizeof(float);
  }

  const char* name() const override { return "conv_winograd"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = epilogue_of(args_);
    epilogue.bias = bias_.ready();
    const int64_t all = args_.y.dim(0) * args_.y.dim(1) * tileRows_ * tileCols_;
    pool.parallel_for((all + tiles_ - 1) / tiles_, [&](int64_t task, int worker) {
      const int64_t first = task * tiles_;
      auto* input = reinterpret_cast<float*>(scratch.of(worker));
      run_tiles(epilogue, first, std::min(tiles_, all - first), input, input + kPoints * taps_ * tiles_ * pitch_);
    });
  }

 private:
  /** A tile's clip, frame, and first output row and column. */
  struct Place {
    int64_t clip, frame, row, col;
  };
  /** Places of tiles [first, first + count): by counting, since divisions take a tenth of a tile's time. */
  void find_places(int64_t first, int64_t count, Place* places) const {
    const int64_t image = first / (tileRows_ * tileCols_), frames = args_.y.dim(1);
    Place at{image / frames, image % frames, first / tileCols_ % tileRows_ * 2, first % tileCols_ * 2};
    for (int64_t t = 0; t < count; ++t) {
      places[t] = at;
      if ((at.col += 2) < args_.y.dim(3)) continue;
      at.col = 0;
      if ((at.row += 2) < args_.y.dim(2)) continue;
      at.row = 0;
      if (++at.frame < frames) continue;
      at.frame = 0;
      ++at.clip;
    }
  }
  /** Frame that a tap over frames reads. */
  ClipFrame input_frame(const Place& at, int64_t tap) const { return clip_.at(at.clip, at.frame + tap + firstFrame_); }
  bool inside(int64_t row, int64_t col) const { return row >= 0 && row < args_.x.dim(2) && col >= 0 && col < args_.x.dim(3); }
  const float* input_pixel(const ClipFrame& frame, int64_t row, int64_t col) const {
    return frame.pixels + (row * args_.x.dim(3) + col) * frame.pitch;
  }

  void run_tiles(const Epilogue& epilogue, int64_t first, int64_t count, float* input, float* products) const {
    Place places[kMostTiles];
    find_places(first, count, places);
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t t = 0; t < count; ++t) transform(places[t], tap, input + (tap * tiles_ + t) * pitch_);
    }
    for (const Panel& panel : panels_.layout.panels()) {
      for (int64_t point = 0; point < kPoints; ++point) multiply(panel, point, count, input, products);
      for (int64_t t = 0; t < count; ++t) store(epilogue, panel, places[t], products + t * panel.cols.panelCols);
    }
  }

  /** input [16, taps, tiles, channels] of one tile and tap over frames. */
  void transform(const Place& at, int64_t tap, float* input) const {
    const float* pixels[kPoints];
    const ClipFrame frame = input_frame(at, tap);
    const int64_t top = at.row - args_.padding[2], left = at.col - args_.padding[4];
    const bool whole = frame.pixels != nullptr && inside(top, left) && inside(top + 3, left + 3);
    for (int64_t i = 0; i < kPoints; ++i) {
      const int64_t row = top + i / 4, col = left + i % 4;
      pixels[i] = whole || (frame.pixels != nullptr && inside(row, col)) ? input_pixel(frame, row, col) : zeros_.data();
    }
    transforms_.input(pixels, channels_, input, taps_ * tiles_ * pitch_);
  }

  /** products [16, tiles, columns] at one point. */
  void multiply(const Panel& panel, int64_t point, int64_t count, const float* input, float* products) const {
    GemmSegment segments[kMaxTaps];
    const int64_t cols = panel.cols.panelCols;
    GemmTile tile{segments, taps_, panels_.panel(panel), DType::f32, panel.vecs, nullptr, cols};
    for (int64_t t = 0; t < count; t += kTileRows) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        segments[tap].k = channels_;
        segments[tap].panelRow = (point * taps_ + tap) * channels_;
        for (int64_t r = 0; r < kTileRows; ++r) {
          segments[tap].rows[r] = input + ((point * taps_ + tap) * tiles_ + std::min(t + r, count - 1)) * pitch_;
        }
      }
      // Rows beyond the last tile are written into the room that whole tiles have.
      tile.sums = products + (point * tiles_ + t) * cols;
      kernels_.gemm_tile(tile);
    }
  }

  void store(const Epilogue& epilogue, const Panel& panel, const Place& at, const float* products) const {
    alignas(64) float sums[4 * kMaxPanelCols];
    const int64_t cols = panel.cols.panelCols;
    const bool isFinite = transforms_.output(products, tiles_ * cols, cols, sums, kMaxPanelCols);
    TileRows rows;
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t row = at.row + i / 2, col = at.col + i % 2;
      if (row >= args_.y.dim(2) || col >= args_.y.dim(3)) continue;
      if (!isFinite && !all_finite(sums + i * kMaxPanelCols, cols)) mend(panel, {at.clip, at.frame, row, col}, sums + i * kMaxPanelCols);
      rows.pixel[i] = ((at.clip * args_.y.dim(1) + at.frame) * args_.y.dim(2) + row) * args_.y.dim(3) + col;
      rows.frame[i] = frameMap_.row(at.clip, at.frame);
    }
    // Tiles that reach beyond the right edge have gaps between their rows.
    const bool right = at.col + 1 < args_.y.dim(3);
    for (int row = 0; row < 2 && at.row + row < args_.y.dim(2); ++row) {
      kernels_.store_tile(epilogue, sums, kMaxPanelCols, rows, 2 * row, 2 * row + (right ? 2 : 1), panel.cols);
    }
  }

  /** Computes an output pixel's columns by the formula, if all inputs of its window are finite. */
  void mend(const Panel& panel, const Place& at, float* sums) const {
    double total[kMaxPanelCols] = {};
    for (int64_t i = 0; i < 9 * taps_; ++i) {
      const ClipFrame frame = input_frame(at, i / 9);
      const int64_t row = at.row + i % 9 / 3 - args_.padding[2], col = at.col + i % 3 - args_.padding[4];
      if (frame.pixels == nullptr || !inside(row, col)) continue;
      const float* pixel = input_pixel(frame, row, col);
      if (!all_finite(pixel, channels_)) return;
      for (int n = 0; n < panel.cols.outCols; ++n) {
        for (int64_t c = 0; c < channels_; ++c) total[n] += static_cast<double>(pixel[c]) * weight_at(panel.cols.outCol + n, c, i);
      }
    }
    for (int n = 0; n < panel.cols.outCols; ++n) sums[n] = static_cast<float>(total[n]);
  }

  double weight_at(int64_t n, int64_t c, int64_t tap) const {
    const Tensor& w = args_.weight;
    return load_element(w.data, w.dtype, ((n * channels_ + c) * taps_ * 3 + tap / 3) * w.pitch + tap % 3);
  }

  ConvArgs args_;
  ClipFrames clip_;
  int64_t firstFrame_;  // of x or its past, which the first result's first tap reads
  const Kernels& kernels_;
  const WinogradKernels& transforms_;
  FrameMap frameMap_;
  std::vector<float> zeros_;
  int64_t channels_;
  int64_t taps_;   // over frames
  int64_t pitch_;  // floats from one tile's channels to the next
  int64_t tileRows_, tileCols_;
  int64_t tiles_;  // per task, whole tiles of the matrix kernel
  PackedPanels panels_;
  PackedBias bias_;
};

}  // namespace

bool winograd_serves(const ConvArgs& a) {
  constexpr int64_t kMinChannels = 16, kMaxChannels = 640;
  const bool kernel = a.weight.dim(2) <= kMaxTaps && a.weight.dim(3) == 3 && a.weight.dim(4) == 3;
  const bool step = a.stride[0] == 1 && a.stride[1] == 1 && a.stride[2] == 1;
  const int64_t c = a.x.channels();
  return kernel && step && !a.upsample && !a.transposed && c >= kMinChannels && c <= kMaxChannels && a.y.channels() >= kMinChannels;
}

std::unique_ptr<PreparedRow> make_conv_winograd(const ConvArgs& args, PackCache& cache, Isa isa) {
  return std::make_unique<ConvWinograd>(args, cache, isa);
}

}  // namespace vd::cpu
