// Convolution of codes as an implicit matrix product: a tile's rows are output pixels, and for each filter position a row is a pointer to
// the channels of one input pixel, or to zeros outside. Pixels are copied in strips of a few MiB, in the form that the matrix kernel takes:
// whole frames, or lines of one frame where that is too large. A transposed convolution is four with filters of 2x2, each of which leaves
// every second row and column of the result.
#include "code_conv.h"

#include <string>

namespace vd::cpu {
namespace {

constexpr int kPackKind = 21;
/** Of the first of four phases; the others follow. */
constexpr int kPhasePackKind = 22;
/** Fewest lines of a strip: what neighbours copy twice is little beside them. */
constexpr int64_t kFewestLines = 16;
constexpr uint8_t kNanCode = 0x7f;

bool has_nan(const Tensor& weight) {
  if (weight.dtype == DType::i8) return false;
  const auto* codes = weight.as<uint8_t>();
  int found = 0;
  for (int64_t i = 0; i < weight.count(); ++i) found |= (codes[i] & kNanCode) == kNanCode ? 1 : 0;
  return found != 0;
}

/** One convolution forwards, as tiles compute it. */
struct Geometry {
  int64_t kernel[3], stride[3], before[3];  // frames, height, width; zeros before the first of each
  int64_t out[3];  // results
  int64_t step, row, column;  // of y: results are every step-th row and column from these on
};

Geometry whole(const CodeConvRow& row) {
  Geometry g{{}, {}, {row.front, row.top, row.left}, {}, 1, 0, 0};
  for (int i = 0; i < 3; ++i) {
    g.kernel[i] = row.weight.dim(2 + i);
    g.stride[i] = row.stride[i];
    g.out[i] = row.y.dim(1 + i);
  }
  return g;
}

/** One phase of a transposed convolution: the results of even or odd rows and columns. */
Geometry phase_of(const CodeConvRow& row, int phase) {
  const int64_t r = phase >> 1, c = phase & 1;
  return {{1, 2, 2}, {1, 1, 1}, {0, 1 - r, 1 - c}, {row.x.dim(1), row.x.dim(2), row.x.dim(3)}, 2, r, c};
}

CodeMatrixSpec spec_of(const CodeConvRow& row, const Geometry& g) {
  const Tensor weight = row.weight;
  const int64_t channels = row.x.channels(), taps = g.kernel[0] * g.kernel[1] * g.kernel[2], columns = row.y.channels();
  if (g.step == 1) {
    const auto rows = [weight, channels, taps](int64_t n, uint8_t* out) {
      const uint8_t* filter = weight.as<uint8_t>() + n * channels * taps;
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t c = 0; c < channels; ++c) out[tap * channels + c] = filter[c * taps + tap];
    };
    return {weight, row.weightScale, columns, false, taps, channels, 0, kPackKind, rows};
  }
  const auto phase = static_cast<int>(2 * g.row + g.column);
  const auto rows = [weight, channels, columns, phase](int64_t n, uint8_t* out) {
    for (int64_t tap = 0; tap < 4; ++tap) {
      // Results of a parity meet every second tap, backwards.
      const int64_t r = 3 - (phase >> 1) - 2 * (tap >> 1), s = 3 - (phase & 1) - 2 * (tap & 1);
      for (int64_t c = 0; c < channels; ++c) out[tap * channels + c] = weight.as<uint8_t>()[(c * columns + n) * 16 + r * 4 + s];
    }
  };
  return {weight, row.weightScale, columns, false, taps, channels, 0, kPhasePackKind + phase, rows};
}

/** Results that are computed together: lines [line, line + lines) of frames [frame, frame + frames) of a clip. */
struct Strip {
  int64_t clip, frame, frames, line, lines;
};

/** What is copied for them: frames and lines of x that exist. */
struct Window {
  int64_t frame, frames, line, lines;
};

class CodeConv final : public PreparedRow {
 public:
  CodeConv(const CodeConvRow& row, const Geometry& geometry, const char* op, PackCache& cache, Isa isa)
      : row_(row),
        geometry_(geometry),
        isa_(isa),
        matrix_(spec_of(row, geometry), cache, isa),
        bias_(row.bias, matrix_.layout()),
        frameMap_(row.frameBias, row.y.dim(1), row.y.dim(2) * row.y.dim(3)),
        name_(std::string(op) + "_" + matrix_.tiles().name) {
    const int64_t lineBytes = row.x.dim(3) * matrix_.row_bytes(), frameBytes = row.x.dim(2) * lineBytes;
    const auto results = [](int64_t inputs, int64_t kernel, int64_t stride) { return (inputs - kernel) / stride + 1; };
    frames_ = std::clamp<int64_t>(results(kStagedBytes / frameBytes, geometry.kernel[0], geometry.stride[0]), 1, geometry.out[0]);
    lines_ = geometry.out[1];
    if (geometry.kernel[0] * frameBytes <= kStagedBytes) return;
    const int64_t most = kStagedBytes / (lineBytes * geometry.kernel[0]);
    lines_ = std::min(lines_, std::max(kFewestLines, results(most, geometry.kernel[1], geometry.stride[1])));
  }

  const char* name() const override { return name_.c_str(); }
  size_t scratch_bytes() const override { return segment_bytes() + CodeTileWriter::line_bytes(row_.y); }
  size_t shared_bytes() const override {
    const int64_t frames = std::min(row_.x.dim(1), (frames_ - 1) * geometry_.stride[0] + geometry_.kernel[0]);
    const int64_t lines = std::min(row_.x.dim(2), (lines_ - 1) * geometry_.stride[1] + geometry_.kernel[1]);
    return static_cast<size_t>(frames * lines * row_.x.dim(3) * matrix_.row_bytes());
  }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = row_.epilogue;
    epilogue.bias = bias_.ready();
    const CodeTileWriter writer(epilogue, row_.y, row_.yScale, isa_);
    const int64_t clips = row_.y.dim(0), frames = geometry_.out[0], lines = geometry_.out[1];
    for (int64_t clip = 0; clip < clips; ++clip)
      for (int64_t frame = 0; frame < frames; frame += frames_)
        for (int64_t line = 0; line < lines; line += lines_)
          run_strip(writer, {clip, frame, std::min(frames_, frames - frame), line, std::min(lines_, lines - line)}, pool, scratch);
  }

 private:
  /** A result's place, and that of its first input in x. */
  struct Place {
    int64_t frame, line, col;
  };

  size_t segment_bytes() const { return (matrix_.segment_bytes() + 63) / 64 * 64; }

  Window window_of(const Strip& s) const {
    const auto range = [](int64_t first, int64_t count, int64_t stride, int64_t before, int64_t kernel, int64_t size) {
      const int64_t from = std::clamp<int64_t>(first * stride - before, 0, size);
      const int64_t to = std::clamp<int64_t>((first + count - 1) * stride - before + kernel, from, size);
      return std::pair(from, to - from);
    };
    const Geometry& g = geometry_;
    const auto [frame, frames] = range(s.frame, s.frames, g.stride[0], g.before[0], g.kernel[0], row_.x.dim(1));
    const auto [line, lines] = range(s.line, s.lines, g.stride[1], g.before[1], g.kernel[1], row_.x.dim(2));
    return {frame, frames, line, lines};
  }

  void run_strip(const CodeTileWriter& writer, const Strip& strip, ThreadPool& pool, const Scratch& scratch) const {
    const Window window = window_of(strip);
    const int64_t width = row_.x.dim(3);
    pool.parallel_for(window.frames * window.lines, [&](int64_t i, int) {
      const int64_t frame = window.frame + i / window.lines, line = window.line + i % window.lines;
      const int64_t pixel = ((strip.clip * row_.x.dim(1) + frame) * row_.x.dim(2) + line) * width;
      for (int64_t col = 0; col < width; ++col)
        matrix_.stage(row_.x.as<uint8_t>() + (pixel + col) * row_.x.pitch, scratch.shared + (i * width + col) * matrix_.row_bytes());
    });
    const auto& panels = matrix_.layout().panels();
    const auto numPanels = static_cast<int64_t>(panels.size());
    const int64_t results = strip.frames * strip.lines * geometry_.out[2], blocks = (results + kCodeBlockRows - 1) / kCodeBlockRows;
    pool.parallel_for(blocks * numPanels, [&](int64_t task, int worker) {
      const int64_t first = task / numPanels * kCodeBlockRows;
      run_panel(writer, panels[static_cast<size_t>(task % numPanels)], strip, window, first, std::min(results, first + kCodeBlockRows),
                scratch.shared, scratch.of(worker));
    });
  }

  /** Results [first, end) of a strip. */
  void run_panel(const CodeTileWriter& writer, const Panel& panel, const Strip& strip, const Window& window, int64_t first, int64_t end,
                 const std::byte* staged, std::byte* scratch) const {
    alignas(64) float sums[kTileRows * kMaxPanelCols];
    auto* segments = reinterpret_cast<CodeSegment*>(scratch);
    auto* line = reinterpret_cast<float*>(scratch + segment_bytes());
    const float xScale = row_.xScale.as<float>()[row_.xScale.dim(0) == 1 ? 0 : strip.clip * row_.xScale.pitch];
    const Geometry& g = geometry_;
    const int64_t width = g.out[2];
    Place place{first / width / strip.lines, first / width % strip.lines, first % width};
    Place inputs[kTileRows];
    TileRows rows;
    for (int64_t m = first; m < end; m += kTileRows) {
      rows.count = static_cast<int>(std::min<int64_t>(kTileRows, end - m));
      for (int r = 0; r < kTileRows; ++r) {
        const int64_t frame = strip.frame + place.frame, y = strip.line + place.line;
        inputs[r] = {frame * g.stride[0] - g.before[0], y * g.stride[1] - g.before[1], place.col * g.stride[2] - g.before[2]};
        const int64_t yLine = (strip.clip * g.out[0] + frame) * row_.y.dim(2) + y * g.step + g.row;
        rows.pixel[r] = yLine * row_.y.dim(3) + place.col * g.step + g.column;
        rows.frame[r] = frameMap_.row(strip.clip, frame);
        // Rows beyond the end repeat the last one; their sums are dropped.
        if (m + r + 1 < end) advance(strip, place);
      }
      const auto rowsOf = [&](int64_t tap, const std::byte** out) { return gather(tap, inputs, window, staged, out); };
      const auto scalesOf = [&](int64_t, float* out) { std::fill_n(out, kTileRows, xScale); };
      matrix_.multiply(panel, segments, rowsOf, scalesOf, sums);
      writer.write(sums, rows, panel.cols, line);
    }
  }

  /** The result behind, by counting: divisions would take longer than a few products. */
  void advance(const Strip& strip, Place& place) const {
    if (++place.col < geometry_.out[2]) return;
    place.col = 0;
    if (++place.line < strip.lines) return;
    place.line = 0;
    ++place.frame;
  }

  /** Copied pixels that a filter position meets; false if all lie outside. */
  bool gather(int64_t tap, const Place* inputs, const Window& window, const std::byte* staged, const std::byte** out) const {
    const int64_t height = geometry_.kernel[1], width = geometry_.kernel[2], cols = row_.x.dim(3);
    const int64_t t = tap / (height * width), r = tap / width % height, s = tap % width;
    bool any = false;
    for (int i = 0; i < kTileRows; ++i) {
      // A negative number is a large one without its sign.
      const auto frame = static_cast<uint64_t>(inputs[i].frame + t - window.frame),
                 line = static_cast<uint64_t>(inputs[i].line + r - window.line);
      const auto col = static_cast<uint64_t>(inputs[i].col + s);
      const bool inside =
          frame < static_cast<uint64_t>(window.frames) && line < static_cast<uint64_t>(window.lines) && col < static_cast<uint64_t>(cols);
      const int64_t pixel = (static_cast<int64_t>(frame) * window.lines + static_cast<int64_t>(line)) * cols + static_cast<int64_t>(col);
      out[i] = inside ? staged + pixel * matrix_.row_bytes() : matrix_.zeros();
      any |= inside;
    }
    return any;
  }

  CodeConvRow row_;
  Geometry geometry_;
  Isa isa_;
  CodeMatrix matrix_;
  PackedBias bias_;
  FrameMap frameMap_;
  std::string name_;
  int64_t frames_, lines_;  // of a strip
};

/** The four phases of a transposed convolution, one after another. */
class TransposedCodeConv final : public PreparedRow {
 public:
  TransposedCodeConv(const CodeConvRow& row, const char* op, PackCache& cache, Isa isa) {
    for (int phase = 0; phase < 4; ++phase) phases_.push_back(std::make_unique<CodeConv>(row, phase_of(row, phase), op, cache, isa));
  }

  // Phases differ in nothing that these depend on.
  const char* name() const override { return phases_.front()->name(); }
  size_t scratch_bytes() const override { return phases_.front()->scratch_bytes(); }
  size_t shared_bytes() const override { return phases_.front()->shared_bytes(); }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    for (const auto& phase : phases_) phase->run(pool, scratch);
  }

 private:
  std::vector<std::unique_ptr<CodeConv>> phases_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_code_conv(const CodeConvRow& row, const char* op, PackCache& cache, Isa isa) {
  if (has_nan(row.weight)) return nullptr;
  if (row.transposed) return std::make_unique<TransposedCodeConv>(row, op, cache, isa);
  return std::make_unique<CodeConv>(row, whole(row), op, cache, isa);
}

}  // namespace vd::cpu
