#include "conv_amx_blocking.h"

#include <algorithm>

namespace vd::cpu {
namespace {

/** Split bytes of a box: under half of a 2 MiB second-level cache; or more when the weights come from far away for each
 *  box (1280 -> 1280 channels at 18 x 32: 146 ms instead of 225). */
constexpr int64_t kRegionBytes = int64_t{768} << 10;
constexpr int64_t kLargeRegionBytes = int64_t{3} << 20;
constexpr int64_t kFarWeightBytes = int64_t{16} << 20;
/** Tasks below which threads would wait for each other. */
constexpr double kEnoughTasks = 8;
// Measured costs in cycles (Sapphire Rapids): splitting a value, copying one that is already split or gathered, and
// reading a byte of weights that do not stay in the second-level cache.
constexpr double kSplitCycles = 0.6, kCopyCycles = 0.3, kWeightByteCycles = 0.3;
constexpr double kMultiplyAddsPerCycle = 440;
constexpr int64_t kCachedWeightBytes = int64_t{768} << 10;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
int64_t divide_up(int64_t value, int64_t step) { return (value + step - 1) / step; }

struct Costs {
  double multiplyAdds;  // per output pixel of one phase, all products
  double weightBytes;
};

/** Cycles per output pixel when tiles are filled to `fill` and `splitValues` per box are split. */
double score(const Costs& costs, double fill, double splitCycles, double boxPixels, double tasks) {
  double cycles = costs.multiplyAdds / kMultiplyAddsPerCycle / fill + splitCycles / boxPixels;
  if (costs.weightBytes > kCachedWeightBytes) cycles += costs.weightBytes * kWeightByteCycles / boxPixels;
  return tasks < kEnoughTasks ? cycles * (2 - tasks / kEnoughTasks) : cycles;
}

class BlockingSearch {
 public:
  BlockingSearch(const ConvArgs& args, const std::vector<ConvPhase>& phases, int parts, int weightParts) : args_(args), phases_(phases) {
    products_ = amx::num_products(parts, weightParts);
    parts_ = weightParts;
    base_.parts = parts;
    regionBytes_ = args.weight.count() * 2 * weightParts > kFarWeightBytes ? kLargeRegionBytes : kRegionBytes;
    base_.frames = args.y.dim(1);
    const ConvPhase& first = phases.front();
    base_.frameStep = first.frameStep;
    base_.rowStep = first.inRowStep;
    base_.colStep = first.inColStep;
    base_.channels = args.x.channels();
    base_.f = {first.taps[0].f, first.taps[0].f};
    base_.h = {first.taps[0].h, first.taps[0].h};
    base_.w = {first.taps[0].w, first.taps[0].w};
    for (const ConvPhase& phase : phases) {
      base_.rows = std::max(base_.rows, phase.rows);
      base_.cols = std::max(base_.cols, phase.cols);
      for (const ConvTap& tap : phase.taps) {
        widen(base_.f, tap.f);
        widen(base_.h, tap.h);
        widen(base_.w, tap.w);
      }
    }
  }

  ConvAmxBlocking best() {
    best_ = unfold();
    // One run over several rows needs pixels that follow each other, in every phase.
    const auto wide = [this](const ConvPhase& phase) { return phase.cols == base_.cols; };
    const bool dense = base_.rowStep == 1 && base_.colStep == 1 && std::all_of(phases_.begin(), phases_.end(), wide);
    for (const int64_t frames : sizes(base_.frames)) {
      for (const int64_t rows : sizes(base_.rows)) {
        if (dense) consider(ConvArrangement::flat, frames, rows, base_.cols);
        for (const int64_t cols : sizes(base_.cols)) {
          if (cols == base_.cols || cols % amx::kSide == 0) consider(ConvArrangement::rows, frames, rows, cols);
        }
      }
    }
    return best_;
  }

 private:
  static void widen(TapRange& range, int64_t offset) {
    range.low = std::min(range.low, offset);
    range.high = std::max(range.high, offset);
  }

  /** The whole and smaller powers of two. */
  static std::vector<int64_t> sizes(int64_t whole) {
    std::vector<int64_t> all{whole};
    for (int64_t size = 1; size < whole; size *= 2) all.push_back(size);
    return all;
  }

  Costs costs(int64_t k) const {
    const auto n = static_cast<double>(round_up(args_.y.channels(), amx::kSide));
    const auto values = static_cast<double>(k) * n;
    return {values * static_cast<double>(products_), values * 2 * parts_ * static_cast<double>(phases_.size())};
  }

  ConvAmxBlocking unfold() const {
    ConvAmxBlocking blocking = base_;
    blocking.arrangement = ConvArrangement::unfold;
    size_t taps = 0;
    for (const ConvPhase& phase : phases_) taps = std::max(taps, phase.taps.size());
    const int64_t k = static_cast<int64_t>(taps) * base_.channels;
    blocking.pixelValues = amx::padded_k(k);
    const int64_t pixels = args_.y.dim(0) * base_.frames * base_.rows * base_.cols;
    blocking.boxCols = std::clamp<int64_t>(regionBytes_ / blocking.pixel_bytes(), amx::kBlockSide, 1024);
    const int64_t share = round_up(divide_up(pixels, 2 * static_cast<int64_t>(kEnoughTasks)), amx::kBlockSide);
    blocking.boxCols = std::min(blocking.boxCols / amx::kBlockSide * amx::kBlockSide, share);
    blocking.boxFrames = blocking.boxRows = 1;
    blocking.inFrames = blocking.inRows = 1;
    blocking.inCols = blocking.boxCols;
    const auto box = static_cast<double>(blocking.boxCols);
    const double pixelCycles = static_cast<double>(blocking.pixelValues) * kSplitCycles + static_cast<double>(k) * kCopyCycles;
    const double splitCycles = box * pixelCycles;
    blocking.cyclesPerPixel = score(costs(blocking.pixelValues), 1, splitCycles, box, static_cast<double>(pixels) / box);
    return blocking;
  }

  void consider(ConvArrangement arrangement, int64_t frames, int64_t rows, int64_t cols) {
    ConvAmxBlocking blocking = base_;
    blocking.arrangement = arrangement;
    blocking.boxFrames = frames;
    blocking.boxRows = rows;
    blocking.boxCols = cols;
    blocking.pixelValues = amx::padded_k(base_.channels);
    const bool flat = arrangement == ConvArrangement::flat;
    blocking.inFrames = (frames - 1) * base_.frameStep + base_.f.span();
    blocking.inRows = (rows - 1) * base_.rowStep + base_.h.span();
    blocking.inCols = flat ? cols : (cols - 1) * base_.colStep + base_.w.span();
    const int64_t smallest = std::min(best_.region_bytes(), regionBytes_);
    if (blocking.region_bytes() > regionBytes_ && blocking.region_bytes() > smallest) return;
    const int64_t run = flat ? rows * cols : cols;
    const double fill = static_cast<double>(run) / static_cast<double>(round_up(run, amx::kSide));
    const auto box = static_cast<double>(frames * rows * cols);
    const auto values = static_cast<double>(blocking.plane_pixels() * blocking.pixelValues);
    const double splitCycles = values * (kSplitCycles + static_cast<double>(blocking.planes() - 1) * kCopyCycles);
    const double tasks =
        static_cast<double>(args_.y.dim(0) * divide_up(base_.frames, frames) * divide_up(base_.rows, rows) * divide_up(base_.cols, cols));
    size_t taps = 0;
    for (const ConvPhase& phase : phases_) taps += phase.taps.size();
    const int64_t k = static_cast<int64_t>(taps) * blocking.pixelValues / static_cast<int64_t>(phases_.size());
    blocking.cyclesPerPixel = score(costs(k), fill, splitCycles / static_cast<double>(phases_.size()), box, tasks);
    if (blocking.cyclesPerPixel < best_.cyclesPerPixel) best_ = blocking;
  }

  const ConvArgs& args_;
  const std::vector<ConvPhase>& phases_;
  int64_t products_ = 6;
  int parts_ = 3;
  int64_t regionBytes_ = kRegionBytes;
  ConvAmxBlocking base_, best_;
};

}  // namespace

int64_t ConvAmxBlocking::tap_offset(const ConvTap& tap) const {
  const bool flat = arrangement == ConvArrangement::flat;
  const int64_t plane = flat ? (tap.w - w.low) * plane_pixels() : 0;
  const int64_t col = flat ? 0 : tap.w - w.low;
  return (plane + ((tap.f - f.low) * inRows + tap.h - h.low) * inCols + col) * pixel_bytes();
}

ConvAmxBlocking choose_conv_amx_blocking(const ConvArgs& args, const std::vector<ConvPhase>& phases, int parts, int weightParts) {
  return BlockingSearch(args, phases, parts, weightParts).best();
}

}  // namespace vd::cpu
