// Convolution of stride 1 with 3x3 taps of a frame by Winograd's F(4x4, 3x3) or F(2x2, 3x3) on the SIMD matrix kernel: 36 products of
// small matrices instead of 144 for a tile of 4 x 4 outputs, or 16 instead of 36 for one of 2 x 2. Taps over frames add up in the same
// products. For instruction sets without matrix tiles.
//
// A tile's transforms mix all its inputs, so that one which is not finite, or overflows on the way, reaches outputs
// whose window it is not in. Those are computed again by the formula: see mend.
//
// Log: 28x16x16, 64 -> 64 channels, one core of Sapphire Rapids; relative L2 against float64 on random data.
//   direct, AVX-512    3,273 us   4.5e-7 (9.6e-7 at 320 channels)
//   F(2x2), AVX-512    1,822 us   2.7e-7 (5.4e-7): shorter sums make up for the transforms' rounding
//   F(2x2), AVX2       3,293 us   against 5,847 us
// The same on two cores of a Cascade Lake: 2.16 ms with divisions for every tile's place, 1.54 by counting (bests of 24 runs).
// Two cores of a Zen 4, bests of 15 runs:
//   F(2x2)   1,453 us   in one chain; 1.6e-7 with chains of 16
//   F(4x4)     893 us   5.9e-7 with chains of 32; about 915 us and 5.0e-7 (6.1e-7 at 320 channels) with chains of 16
// What F(4x4) rounds is the products: with exact ones its error is 3.0e-7, with one chain over 64 channels 7.7e-7, over 320 1.7e-6. In
// the nets it is not seen: tiny-svd's UNet is 6.3e-7 from the definition with either form, its decoder 5.9e-7 and 5.6e-7. Of points
// 0, ±a, ±b those taken have the least error of 62 pairs; 0, ±1, ±2 have more than twice as much.
#include <algorithm>
#include <array>
#include <cmath>

#include "../../../native/core/float_element.h"
#include "../../../native/cpu/kernels.h"
#include "../../../native/cpu/panels.h"
#include "../../../native/cpu/tile_epilogue.h"
#include "../../../native/cpu/widen.h"

#include "conv_fast.h"
#include "conv_geometry.h"
#include "winograd_kernels.h"

namespace vd::cpu {
namespace {

constexpr int kPackKind = 5;
constexpr int kMaxOutputs = kMaxWinogradOutputs * kMaxWinogradOutputs, kMaxPoints = kMaxWinogradPoints * kMaxWinogradPoints;
/** Taps over frames. */
constexpr int64_t kMaxTaps = 3;
/** Transformed input of a task: what leaves room for weights in the second-level cache. */
constexpr int64_t kInputBytes = int64_t{512} << 10;
/** Tiles of a task, whole tiles of the matrix kernel. */
constexpr int64_t kFewestTiles = 4 * kTileRows, kMostTiles = 16 * kTileRows;
/** Tasks a worker, so that all end at about the same time. */
constexpr int64_t kTasksPerWorker = 6, kFewestTasksPerWorker = 2;
/** Channels whose products are summed in one chain. Transforms enlarge the products' rounding, so that chains are what decides. */
constexpr int64_t kTileChain = 16;
/** Most bytes of transformed filters, four times those of the filters, that larger tiles may take: beyond, memory decides. */
constexpr int64_t kFourBytes = int64_t{8} << 20;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/** Tiles of m x m outputs: m, and the rows of G, which transforms a filter's line of three taps. */
struct Form {
  int outputs;
  std::array<std::array<double, 3>, kMaxWinogradPoints> taps;
  int points() const { return outputs + 2; }
};

constexpr Form kTwo{2, {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}}};

/** A finite point's row: its powers by the product of its distances to the other finite points. */
constexpr std::array<double, 3> tap_row(double point) {
  double distances = 1;
  for (const double other : {0.0, kWinogradNear, -kWinogradNear, kWinogradFar, -kWinogradFar})
    if (other != point) distances *= point - other;
  return {1 / distances, point / distances, point * point / distances};
}

constexpr Form kFour{
    4, {{tap_row(0), tap_row(kWinogradNear), tap_row(-kWinogradNear), tap_row(kWinogradFar), tap_row(-kWinogradFar), {0, 0, 1}}}};

/** Tiles of so many outputs that a frame takes. */
int64_t tiles_of(const ConvArgs& args, int outputs) {
  return ((args.y.dim(2) + outputs - 1) / outputs) * ((args.y.dim(3) + outputs - 1) / outputs);
}

/** The form with fewer products; small frames are no multiple of four. */
const Form& form_of(const ConvArgs& args) {
  const auto products = [&](const Form& form) { return tiles_of(args, form.outputs) * form.points() * form.points(); };
  const int64_t bytes = 4 * args.weight.count() * kMaxPoints / 9;
  return bytes <= kFourBytes && products(kFour) < products(kTwo) ? kFour : kTwo;
}

/** The filters of an output channel, [C, T, 9]. */
std::vector<float> filters_of(const Tensor& weight, int64_t n) {
  const int64_t lines = weight.dim(1) * weight.dim(2) * 3;
  std::vector<float> filters(static_cast<size_t>(lines * 3));
  if (weight.pitch == 3) widen(weight, n * lines * 3, lines * 3, filters.data());
  else
    for (int64_t line = 0; line < lines; ++line) widen(weight, (n * lines + line) * weight.pitch, 3, filters.data() + 3 * line);
  return filters;
}

/** G·g·Gᵀ of every filter of an output channel, [n², T, C]. */
RowSource winograd_rows(const Tensor& weight, const Form& form, const WinogradKernels& kernels) {
  return [weight, &form, &kernels](int64_t n, float* row) {
    const int64_t channels = weight.dim(1), frames = weight.dim(2);
    const int points = form.points();
    const std::vector<float> filters = filters_of(weight, n);
    // Of all channels beside each other, so that compilers find vectors.
    std::vector<double> g(static_cast<size_t>(9 * channels)), half(static_cast<size_t>(3 * points * channels));
    const auto taps = [&](int point) { return form.taps[static_cast<size_t>(point)].data(); };
    for (int64_t t = 0; t < frames; ++t) {
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < 9; ++i) g[static_cast<size_t>(i * channels + c)] = filters[static_cast<size_t>((c * frames + t) * 9 + i)];
      for (int p = 0; p < points; ++p)
        for (int col = 0; col < 3; ++col)
          kernels.addLines({taps(p), g.data() + col * channels, 3 * channels, channels}, half.data() + (3 * p + col) * channels);
      for (int i = 0; i < points * points; ++i)
        kernels.addLinesRounded({taps(i % points), half.data() + 3 * (i / points) * channels, channels, channels},
                                row + (i * frames + t) * channels);
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
        form_(form_of(args)),
        transforms_(form_.outputs == 4 ? winograd_kernels_of(isa).four : winograd_kernels_of(isa).two),
        enlarged_(args.upsample ? 1 : 0),
        outputs_(form_.outputs),
        side_(form_.points()),
        points_(side_ * side_),
        frameMap_(args.frameBias, args.y.dim(1), args.y.dim(2) * args.y.dim(3)),
        zeros_(static_cast<size_t>(args.x.channels()), 0.0f),
        channels_(args.x.channels()),
        taps_(args.weight.dim(2)),
        pitch_(round_up(channels_, kernels_.width)),
        tileRows_((args.y.dim(2) + outputs_ - 1) / outputs_),
        tileCols_((args.y.dim(3) + outputs_ - 1) / outputs_),
        mostTiles_(std::clamp(kInputBytes / (4 * points_ * taps_ * pitch_ * kTileRows) * kTileRows, kFewestTiles, kMostTiles)) {
    const Tensor& w = args.weight;
    const PanelLayout layout(args.y.channels(), false, kernels_.width, kernels_.maxVecs);
    const auto type = static_cast<int64_t>(w.dtype);
    const PackIdentity identity{w.data, kPackKind, {w.dim(0), channels_, taps_, w.pitch, type, kernels_.width, kernels_.maxVecs, outputs_}};
    panels_ =
        pack_panels(cache, identity, layout, points_ * taps_ * channels_, DType::f32, winograd_rows(w, form_, winograd_kernels_of(isa)));
    bias_ = PackedBias(args.bias, layout);
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(points_ * mostTiles_ * (taps_ * pitch_ + kMaxPanelCols)) * sizeof(float);
  }

  const char* name() const override { return "conv_winograd"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = epilogue_of(args_);
    epilogue.bias = bias_.ready();
    const int64_t all = args_.y.dim(0) * args_.y.dim(1) * tileRows_ * tileCols_;
    const auto numPanels = static_cast<int64_t>(panels_.layout.panels().size());
    // Few tiles are transformed more than once, so that workers share out the filters as well.
    const int64_t spans = (all + kFewestTiles - 1) / kFewestTiles;
    const int64_t groups = std::clamp<int64_t>((kFewestTasksPerWorker * pool.threads() + spans - 1) / spans, 1, numPanels);
    const int64_t share = (all * groups / (kTasksPerWorker * pool.threads()) + kTileRows - 1) / kTileRows * kTileRows;
    const int64_t tiles = std::clamp(share, std::min(kFewestTiles, mostTiles_), mostTiles_);
    pool.parallel_for((all + tiles - 1) / tiles * groups, [&](int64_t task, int worker) {
      const int64_t first = task / groups * tiles, group = task % groups;
      auto* input = reinterpret_cast<float*>(scratch.of(worker));
      const Span span{first, std::min(tiles, all - first), group * numPanels / groups, (group + 1) * numPanels / groups};
      run_tiles(epilogue, span, input, input + points_ * taps_ * mostTiles_ * pitch_);
    });
  }

 private:
  /** Tiles and panels of a task. */
  struct Span {
    int64_t first, count, firstPanel, endPanel;
  };
  /** A tile's clip, frame, and first output row and column. */
  struct Place {
    int64_t clip, frame, row, col;
  };
  /** Places of tiles: by counting, since divisions take a tenth of a tile's time. */
  void find_places(Span span, Place* places) const {
    const int64_t image = span.first / (tileRows_ * tileCols_), frames = args_.y.dim(1);
    Place at{image / frames, image % frames, span.first / tileCols_ % tileRows_ * outputs_, span.first % tileCols_ * outputs_};
    for (int64_t t = 0; t < span.count; ++t) {
      places[t] = at;
      if ((at.col += outputs_) < args_.y.dim(3)) continue;
      at.col = 0;
      if ((at.row += outputs_) < args_.y.dim(2)) continue;
      at.row = 0;
      if (++at.frame < frames) continue;
      at.frame = 0;
      ++at.clip;
    }
  }
  /** Frame that a tap over frames reads. */
  ClipFrame input_frame(const Place& at, int64_t tap) const { return clip_.at(at.clip, at.frame + tap + firstFrame_); }
  /** Rows and columns are those of the picture that is convolved, whose pixels are twice those of x when it is made larger. */
  bool inside(int64_t row, int64_t col) const {
    return row >= 0 && row < args_.x.dim(2) << enlarged_ && col >= 0 && col < args_.x.dim(3) << enlarged_;
  }
  const float* input_pixel(const ClipFrame& frame, int64_t row, int64_t col) const {
    return frame.pixels + ((row >> enlarged_) * args_.x.dim(3) + (col >> enlarged_)) * frame.pitch;
  }

  void run_tiles(const Epilogue& epilogue, Span span, float* input, float* products) const {
    Place places[kMostTiles];
    find_places(span, places);
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t t = 0; t < span.count; ++t) transform(places[t], tap, input + (tap * mostTiles_ + t) * pitch_);
    }
    for (int64_t p = span.firstPanel; p < span.endPanel; ++p) {
      const Panel& panel = panels_.layout.panels()[static_cast<size_t>(p)];
      for (int64_t point = 0; point < points_; ++point) multiply(panel, point, span.count, input, products);
      for (int64_t t = 0; t < span.count; ++t) store(epilogue, panel, places[t], products + t * panel.cols.panelCols);
    }
  }

  /** input [n², taps, tiles, channels] of one tile and tap over frames. */
  void transform(const Place& at, int64_t tap, float* input) const {
    const float* pixels[kMaxPoints];
    const ClipFrame frame = input_frame(at, tap);
    const int64_t top = at.row - args_.padding[2], left = at.col - args_.padding[4];
    const bool whole = frame.pixels != nullptr && inside(top, left) && inside(top + side_ - 1, left + side_ - 1);
    for (int64_t i = 0, row = top; row < top + side_; ++row) {
      for (int64_t col = left; col < left + side_; ++col, ++i) {
        pixels[i] = whole || (frame.pixels != nullptr && inside(row, col)) ? input_pixel(frame, row, col) : zeros_.data();
      }
    }
    transforms_.input(pixels, channels_, input, taps_ * mostTiles_ * pitch_);
  }

  /** products [n², tiles, columns] at one point. */
  void multiply(const Panel& panel, int64_t point, int64_t count, const float* input, float* products) const {
    GemmSegment segments[kMaxTaps];
    const int64_t cols = panel.cols.panelCols;
    GemmTile tile{segments, taps_, panels_.panel(panel), DType::f32, panel.vecs, nullptr, cols, kTileChain};
    for (int64_t t = 0; t < count; t += kTileRows) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        segments[tap].k = channels_;
        segments[tap].panelRow = (point * taps_ + tap) * channels_;
        for (int64_t r = 0; r < kTileRows; ++r) {
          segments[tap].rows[r] = input + ((point * taps_ + tap) * mostTiles_ + std::min(t + r, count - 1)) * pitch_;
        }
      }
      // Rows beyond the last tile are written into the room that whole tiles have.
      tile.sums = products + (point * mostTiles_ + t) * cols;
      kernels_.gemm_tile(tile);
    }
  }

  void store(const Epilogue& epilogue, const Panel& panel, const Place& at, const float* products) const {
    alignas(64) float sums[kMaxOutputs * kMaxPanelCols];
    const int64_t cols = panel.cols.panelCols;
    const bool isFinite = transforms_.output(products, mostTiles_ * cols, cols, sums, kMaxPanelCols);
    const int width = static_cast<int>(std::min<int64_t>(outputs_, args_.y.dim(3) - at.col));
    const int height = static_cast<int>(std::min<int64_t>(outputs_, args_.y.dim(2) - at.row));
    TileRows rows;
    const int64_t frameRow = frameMap_.row(at.clip, at.frame);
    for (int row = 0; row < height; ++row) {
      const int64_t line = ((at.clip * args_.y.dim(1) + at.frame) * args_.y.dim(2) + at.row + row) * args_.y.dim(3) + at.col;
      for (int col = 0, i = row * outputs_; col < width; ++col, ++i) {
        float* sum = sums + i * kMaxPanelCols;
        if (!isFinite && !all_finite(sum, cols)) mend(panel, {at.clip, at.frame, at.row + row, at.col + col}, sum);
        rows.pixel[i] = line + col;
        rows.frame[i] = frameRow;
      }
      // Tiles that reach beyond the right edge have gaps between their rows.
      if (width < outputs_) kernels_.store_tile(epilogue, sums, kMaxPanelCols, rows, row * outputs_, row * outputs_ + width, panel.cols);
    }
    if (width == outputs_) kernels_.store_tile(epilogue, sums, kMaxPanelCols, rows, 0, height * outputs_, panel.cols);
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
  const Form& form_;
  const WinogradTransforms& transforms_;
  int enlarged_;                 // binary digits of upsampling
  int outputs_, side_, points_;  // of a tile: a side of its outputs and inputs, all of those
  FrameMap frameMap_;
  std::vector<float> zeros_;
  int64_t channels_;
  int64_t taps_;   // over frames
  int64_t pitch_;  // floats from one tile's channels to the next
  int64_t tileRows_, tileCols_;
  int64_t mostTiles_;  // per task, whole tiles of the matrix kernel
  PackedPanels panels_;
  PackedBias bias_;
};

}  // namespace

bool winograd_serves(const ConvArgs& a) {
  constexpr int64_t kMinChannels = 16, kMaxChannels = 640;
  const bool kernel = a.weight.dim(2) <= kMaxTaps && a.weight.dim(3) == 3 && a.weight.dim(4) == 3;
  const bool step = a.stride[0] == 1 && a.stride[1] == 1 && a.stride[2] == 1;
  const int64_t c = a.x.channels();
  return kernel && step && !a.transposed && c >= kMinChannels && c <= kMaxChannels && a.y.channels() >= kMinChannels;
}

std::unique_ptr<PreparedRow> make_conv_winograd(const ConvArgs& args, PackCache& cache, Isa isa) {
  return std::make_unique<ConvWinograd>(args, cache, isa);
}

}  // namespace vd::cpu
