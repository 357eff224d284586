// Tokens are copied in strips of a few MiB, in the form that the matrix kernel takes; tasks are blocks of tokens by panels of the weight.
#include "code_linear.h"

#include <cstring>
#include <string>

#include "../core/activation.h"

namespace vd::cpu {
namespace {

constexpr int kPackKind = 20;
/** Channels that may have a scale of their own. */
constexpr int64_t kScaledBlock = 128;

/** Scales [1|B, 1|F, 1|S, 1|blocks] of tokens [B, F, S]. */
class TokenScales {
 public:
  TokenScales(const Tensor& t, const Tensor& x)
      : data_(t.as<float>()), frames_(x.dim(1)), tokens_(x.dim(2)), isOne_(t.pixels() == 1), perBlock_(t.channels() > 1) {
    const int64_t frame = t.pitch * t.dim(2);
    steps_[0] = t.dim(0) > 1 ? frame * t.dim(1) : 0;
    steps_[1] = t.dim(1) > 1 ? frame : 0;
    steps_[2] = t.dim(2) > 1 ? t.pitch : 0;
  }
  const float* of(int64_t token) const {
    if (isOne_) return data_;
    const int64_t frame = token / tokens_;
    return data_ + frame / frames_ * steps_[0] + frame % frames_ * steps_[1] + token % tokens_ * steps_[2];
  }
  bool per_block() const { return perBlock_; }

 private:
  const float* data_;
  int64_t frames_, tokens_;
  bool isOne_, perBlock_;
  int64_t steps_[3];
};

CodeMatrixSpec spec_of(const CodeLinearRow& row) {
  const bool blocks = row.xScale.channels() > 1 || row.weightScale.channels() > 1;
  const Tensor weight = row.weight;
  const auto rows = [weight](int64_t n, uint8_t* out) {
    std::memcpy(out, weight.as<uint8_t>() + n * weight.channels(), static_cast<size_t>(weight.channels()));
  };
  return {weight, row.weightScale, row.y.channels(), is_gated(row.act), 1, weight.channels(), blocks ? kScaledBlock : 0, kPackKind, rows};
}

class CodeLinear final : public PreparedRow {
 public:
  CodeLinear(const CodeLinearRow& row, const char* op, PackCache& cache, Isa isa)
      : row_(row),
        isa_(isa),
        matrix_(spec_of(row), cache, isa),
        bias_(row.bias, matrix_.layout()),
        scales_(row.xScale, row.x),
        frameMap_(row.frameBias, row.x.dim(1), row.x.dim(2)),
        name_(std::string(op) + "_" + matrix_.tiles().name) {}

  const char* name() const override { return name_.c_str(); }
  size_t scratch_bytes() const override { return segment_bytes() + CodeTileWriter::line_bytes(row_.y); }
  size_t shared_bytes() const override { return static_cast<size_t>(strip_rows() * matrix_.row_bytes()); }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = row_.epilogue;
    epilogue.bias = bias_.ready();
    const CodeTileWriter writer(epilogue, row_.y, row_.yScale, isa_);
    const int64_t rows = row_.y.pixels(), strip = strip_rows();
    const auto& panels = matrix_.layout().panels();
    const auto numPanels = static_cast<int64_t>(panels.size());
    for (int64_t first = 0; first < rows; first += strip) {
      const int64_t end = std::min(rows, first + strip), blocks = (end - first + kCodeBlockRows - 1) / kCodeBlockRows;
      pool.parallel_for(blocks, [&](int64_t block, int) {
        const int64_t from = first + block * kCodeBlockRows;
        for (int64_t i = from; i < std::min(end, from + kCodeBlockRows); ++i)
          matrix_.stage(row_.x.as<uint8_t>() + i * row_.x.pitch, scratch.shared + (i - first) * matrix_.row_bytes());
      });
      pool.parallel_for(blocks * numPanels, [&](int64_t task, int worker) {
        const int64_t from = first + task / numPanels * kCodeBlockRows;
        run_panel(writer, panels[static_cast<size_t>(task % numPanels)], first, from, std::min(end, from + kCodeBlockRows), scratch,
                  worker);
      });
    }
  }

 private:
  size_t segment_bytes() const { return (matrix_.segment_bytes() + 63) / 64 * 64; }
  int64_t strip_rows() const {
    const int64_t blocks = std::max<int64_t>(1, kStagedBytes / (kCodeBlockRows * matrix_.row_bytes()));
    return std::min(row_.y.pixels(), blocks * kCodeBlockRows);
  }

  /** Rows [first, end) of a strip that begins with row `staged`. */
  void run_panel(const CodeTileWriter& writer, const Panel& panel, int64_t staged, int64_t first, int64_t end, const Scratch& scratch,
                 int worker) const {
    alignas(64) float sums[kTileRows * kMaxPanelCols];
    auto* segments = reinterpret_cast<CodeSegment*>(scratch.of(worker));
    auto* line = reinterpret_cast<float*>(scratch.of(worker) + segment_bytes());
    TileRows rows;
    const std::byte* places[kTileRows];
    const float* scales[kTileRows];
    for (int64_t m = first; m < end; m += kTileRows) {
      rows.count = static_cast<int>(std::min<int64_t>(kTileRows, end - m));
      for (int r = 0; r < kTileRows; ++r) {
        // Rows beyond the end repeat the last one; their sums are dropped.
        const int64_t pixel = std::min(m + r, end - 1);
        places[r] = scratch.shared + (pixel - staged) * matrix_.row_bytes();
        scales[r] = scales_.of(pixel);
        rows.pixel[r] = pixel;
        rows.frame[r] = frameMap_.row(pixel);
      }
      const auto rowsOf = [&](int64_t, const std::byte** out) {
        std::copy_n(places, kTileRows, out);
        return true;
      };
      const auto scalesOf = [&](int64_t sum, float* out) {
        for (int r = 0; r < kTileRows; ++r) out[r] = scales[r][scales_.per_block() ? sum : 0];
      };
      matrix_.multiply(panel, segments, rowsOf, scalesOf, sums);
      writer.write(sums, rows, panel.cols, line);
    }
  }

  CodeLinearRow row_;
  Isa isa_;
  CodeMatrix matrix_;
  PackedBias bias_;
  TokenScales scales_;
  FrameMap frameMap_;
  std::string name_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_code_linear(const CodeLinearRow& row, const char* op, PackCache& cache, Isa isa) {
  return std::make_unique<CodeLinear>(row, op, cache, isa);
}

}  // namespace vd::cpu
