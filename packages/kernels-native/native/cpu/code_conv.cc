// Convolution of codes as an implicit matrix product: a tile's rows are output pixels, and for each filter position a row is a pointer to
// the channels of one input pixel, or to zeros outside. Pixels are copied in strips of a few MiB, in the form that the matrix kernel takes:
// whole frames, or lines of one frame where that is too large.
#include "code_conv.h"

#include <string>

namespace vd::cpu {
namespace {

constexpr int kPackKind = 21;
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

CodeMatrixSpec spec_of(const CodeConvRow& row) {
  const Tensor weight = row.weight;
  const int64_t channels = weight.dim(1), taps = weight.dim(2) * weight.dim(3) * weight.dim(4);
  const auto rows = [weight, channels, taps](int64_t n, uint8_t* out) {
    const uint8_t* filter = weight.as<uint8_t>() + n * channels * taps;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < channels; ++c) out[tap * channels + c] = filter[c * taps + tap];
  };
  return {weight, row.weightScale, row.y.channels(), false, taps, channels, 0, kPackKind, rows};
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
  CodeConv(const CodeConvRow& row, const char* op, PackCache& cache, Isa isa)
      : row_(row),
        isa_(isa),
        matrix_(spec_of(row), cache, isa),
        bias_(row.bias, matrix_.layout()),
        frameMap_(row.frameBias, row.y.dim(1), row.y.dim(2) * row.y.dim(3)),
        name_(std::string(op) + "_" + matrix_.tiles().name) {
    const int64_t lineBytes = row.x.dim(3) * matrix_.row_bytes(), frameBytes = row.x.dim(2) * lineBytes;
    const auto results = [](int64_t inputs, int64_t kernel, int64_t stride) { return (inputs - kernel) / stride + 1; };
    frames_ = std::clamp<int64_t>(results(kStagedBytes / frameBytes, row.weight.dim(2), row.stride[0]), 1, row.y.dim(1));
    lines_ = row.y.dim(2);
    if (row.weight.dim(2) * frameBytes <= kStagedBytes) return;
    const int64_t most = kStagedBytes / (lineBytes * row.weight.dim(2));
    lines_ = std::min(lines_, std::max(kFewestLines, results(most, row.weight.dim(3), row.stride[1])));
  }

  const char* name() const override { return name_.c_str(); }
  size_t scratch_bytes() const override { return segment_bytes() + CodeTileWriter::line_bytes(row_.y); }
  size_t shared_bytes() const override {
    const int64_t frames = std::min(row_.x.dim(1), (frames_ - 1) * row_.stride[0] + row_.weight.dim(2));
    const int64_t lines = std::min(row_.x.dim(2), (lines_ - 1) * row_.stride[1] + row_.weight.dim(3));
    return static_cast<size_t>(frames * lines * row_.x.dim(3) * matrix_.row_bytes());
  }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = row_.epilogue;
    epilogue.bias = bias_.ready();
    const CodeTileWriter writer(epilogue, row_.y, row_.yScale, isa_);
    const int64_t clips = row_.y.dim(0), frames = row_.y.dim(1), lines = row_.y.dim(2);
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
    const auto [frame, frames] = range(s.frame, s.frames, row_.stride[0], row_.front, row_.weight.dim(2), row_.x.dim(1));
    const auto [line, lines] = range(s.line, s.lines, row_.stride[1], row_.top, row_.weight.dim(3), row_.x.dim(2));
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
    const int64_t results = strip.frames * strip.lines * row_.y.dim(3), blocks = (results + kCodeBlockRows - 1) / kCodeBlockRows;
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
    const int64_t width = row_.y.dim(3);
    Place place{first / width / strip.lines, first / width % strip.lines, first % width};
    Place inputs[kTileRows];
    TileRows rows;
    for (int64_t m = first; m < end; m += kTileRows) {
      rows.count = static_cast<int>(std::min<int64_t>(kTileRows, end - m));
      for (int r = 0; r < kTileRows; ++r) {
        const int64_t frame = strip.frame + place.frame, y = strip.line + place.line;
        inputs[r] = {frame * row_.stride[0] - row_.front, y * row_.stride[1] - row_.top, place.col * row_.stride[2] - row_.left};
        rows.pixel[r] = ((strip.clip * row_.y.dim(1) + frame) * row_.y.dim(2) + y) * width + place.col;
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
    if (++place.col < row_.y.dim(3)) return;
    place.col = 0;
    if (++place.line < strip.lines) return;
    place.line = 0;
    ++place.frame;
  }

  /** Copied pixels that a filter position meets; false if all lie outside. */
  bool gather(int64_t tap, const Place* inputs, const Window& window, const std::byte* staged, const std::byte** out) const {
    const int64_t height = row_.weight.dim(3), width = row_.weight.dim(4), cols = row_.x.dim(3);
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
  Isa isa_;
  CodeMatrix matrix_;
  PackedBias bias_;
  FrameMap frameMap_;
  std::string name_;
  int64_t frames_, lines_;  // of a strip
};

}  // namespace

std::unique_ptr<PreparedRow> make_code_conv(const CodeConvRow& row, const char* op, PackCache& cache, Isa isa) {
  if (has_nan(row.weight)) return nullptr;
  return std::make_unique<CodeConv>(row, op, cache, isa);
}

}  // namespace vd::cpu
