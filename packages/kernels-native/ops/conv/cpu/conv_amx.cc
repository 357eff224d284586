// Convolution as an implicit GEMM on the AMX engine. A task splits the input of a box of output pixels once; tiles of
// sixteen pixels then read it at an offset per tap, so that nothing is unfolded (but see ConvArrangement::unfold). All
// phases of an upsampling convolution share one box.
//
// Log: 28x16x16, 3x3, 64 -> 64, one core of Sapphire Rapids.
//   SIMD kernel                                            3,273 us
//   Winograd F(2x2) on the SIMD kernel                     1,822 us
//   tiles, phases one after the other                      1,466 us
//   storing and splitting spread between the products      1,296 us (the products alone take 1,200)
#include <algorithm>

#include "../../../native/cpu/amx_pipeline.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "conv_amx_blocking.h"
#include "conv_amx_pack.h"
#include "conv_fast.h"
#include "conv_geometry.h"

namespace vd::cpu {
namespace {

using amx::kSide;

constexpr int kPackKind = 4;
constexpr int64_t kSumsBytes = amx::kSumsFloats * sizeof(float);

struct Phase {
  ConvPhase shape;
  amx::PackedWeights weights;
  PackedBias bias;
  // Steps of the taps that lie inside the clip, for panels of one and of two tiles, and which of them a frame takes.
  std::vector<std::vector<amx::Step>> tables[2];
  std::vector<size_t> tableOfFrame;
};

class ConvAmx final : public PreparedRow {
 public:
  ConvAmx(const ConvArgs& args, PackCache& cache, const amx::Engine& engine)
      : args_(args), engine_(engine), clip_(args), frameMap_(args.frameBias, args.y.dim(1), args.y.dim(2) * args.y.dim(3)) {
    const PanelLayout layout(args.y.channels(), false, kSide, 2);
    std::vector<ConvPhase> shapes = conv_phases(args);
    const Tensor& w = args.weight;
    int parts = 1;
    for (const ConvPhase& shape : shapes) {
      // Sums of f16 filters may need more than 11 bits.
      const DType type = args.upsample ? DType::f32 : w.dtype;
      const int64_t k = static_cast<int64_t>(shape.taps.size()) * args.x.channels();
      parts = std::max(parts, amx::parts_of(type, args.y.channels(), k, conv_rows(args, shape), engine.parts));
    }
    blocking_ = choose_conv_amx_blocking(args, shapes, engine.parts, parts);
    for (ConvPhase& shape : shapes) {
      std::vector<int64_t> segments(shape.taps.size(), args.x.channels());
      if (unfolds()) segments = {static_cast<int64_t>(shape.taps.size()) * args.x.channels()};
      const PackIdentity identity{w.data, kPackKind, conv_facts(args, shape)};
      const amx::WeightForm form{segments, parts, !args.upsample && amx::keeps_compact(w.dtype, w.count(), parts)};
      amx::PackedWeights weights = amx::pack_weights(cache, identity, layout, form, conv_rows(args, shape));
      phases_.push_back({std::move(shape), std::move(weights), PackedBias(args.bias, layout), {}, {}});
      make_tables(phases_.back());
    }
  }

  size_t scratch_bytes() const override {
    const int64_t work = unfolds() ? UnfoldPacker::work_floats(blocking_) * 4 : 0;
    return static_cast<size_t>(head_bytes() + work + blocking_.region_bytes());
  }

  const char* name() const override { return "conv_amx"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    const Epilogue epilogue = epilogue_of(args_);
    biases_.clear();
    for (Phase& phase : phases_) biases_.push_back(phase.bias.ready());
    if (unfolds()) return run_unfolded(pool, scratch, epilogue);
    const int64_t frames = count(blocking_.frames, blocking_.boxFrames), rows = count(blocking_.rows, blocking_.boxRows);
    const int64_t cols = count(blocking_.cols, blocking_.boxCols);
    pool.parallel_for(args_.y.dim(0) * frames * rows * cols, [&](int64_t task, int worker) {
      const ConvBox box{task / (cols * rows * frames), task / (cols * rows) % frames * blocking_.boxFrames,
                        task / cols % rows * blocking_.boxRows, task % cols * blocking_.boxCols};
      std::byte* region = scratch.of(worker) + head_bytes();
      RegionPacker packer(blocking_, args_.x, clip_, box, region);
      amx::Pipeline pipeline(packer);
      engine_.tiles->begin();
      for (size_t i = 0; i < phases_.size(); ++i) {
        pipeline.run(pass_of(i, epilogue, region, scratch.of(worker)), units_of(phases_[i], box));
      }
      engine_.tiles->end();
    });
  }

 private:
  /** Scratch before the split region: sums, then a panel of weights. */
  int64_t head_bytes() const { return kSumsBytes + phases_.front().weights.expanded_bytes(); }
  static int64_t count(int64_t whole, int64_t box) { return (whole + box - 1) / box; }
  bool unfolds() const { return blocking_.arrangement == ConvArrangement::unfold; }

  void make_tables(Phase& phase) const {
    const auto numFrames = unfolds() ? 1 : static_cast<size_t>(blocking_.frames);
    std::vector<std::vector<bool>> seen;
    for (size_t frame = 0; frame < numFrames; ++frame) {
      std::vector<bool> inside;
      for (const ConvTap& tap : phase.shape.taps) {
        inside.push_back(unfolds() || clip_.has(static_cast<int64_t>(frame) * blocking_.frameStep + tap.f));
      }
      const auto found = std::find(seen.begin(), seen.end(), inside);
      phase.tableOfFrame.push_back(static_cast<size_t>(found - seen.begin()));
      if (found != seen.end()) continue;
      seen.push_back(inside);
      for (const int colTiles : {1, 2}) phase.tables[colTiles - 1].push_back(make_table(phase, inside, colTiles));
    }
  }

  std::vector<amx::Step> make_table(const Phase& phase, const std::vector<bool>& inside, int colTiles) const {
    const int64_t panelStep = colTiles * phase.weights.parts * amx::kTileBytes;
    const int64_t steps = unfolds() ? phase.weights.steps : blocking_.pixelValues / amx::kStep;
    std::vector<amx::Step> table;
    for (size_t tap = 0; tap < (unfolds() ? 1 : inside.size()); ++tap) {
      if (!inside[tap]) continue;
      const int64_t start = unfolds() ? 0 : blocking_.tap_offset(phase.shape.taps[tap]);
      for (int64_t s = 0; s < steps; ++s) {
        table.push_back({start + s * amx::kStepBytes, (static_cast<int64_t>(tap) * steps + s) * panelStep});
      }
    }
    return table;
  }

  void run_unfolded(ThreadPool& pool, const Scratch& scratch, const Epilogue& epilogue) {
    for (size_t i = 0; i < phases_.size(); ++i) {
      const Phase& phase = phases_[i];
      const int64_t pixels = args_.y.dim(0) * blocking_.frames * phase.shape.rows * phase.shape.cols;
      pool.parallel_for(count(pixels, blocking_.boxCols), [&](int64_t task, int worker) {
        const int64_t first = task * blocking_.boxCols, end = std::min(pixels, first + blocking_.boxCols);
        auto* work = reinterpret_cast<float*>(scratch.of(worker) + head_bytes());
        std::byte* region = scratch.of(worker) + head_bytes() + UnfoldPacker::work_floats(blocking_) * 4;
        UnfoldPacker packer(blocking_, phase.shape, args_.x, clip_, first, end, work, region);
        std::vector<amx::Unit> units;
        for (int64_t pixel = first; pixel < end; pixel += kSide) {
          const int64_t n = std::min<int64_t>(kSide, end - pixel);
          add_unit(units, phase, (pixel - first) * blocking_.pixel_bytes(), pixel, n);
          units.back().need = UnfoldPacker::pieces_through(blocking_, pixel + n - first);
        }
        engine_.tiles->begin();
        amx::Pipeline(packer).run(pass_of(i, epilogue, region, scratch.of(worker)), units);
        engine_.tiles->end();
      });
    }
  }

  amx::Pass pass_of(size_t phaseIndex, const Epilogue& epilogue, const std::byte* region, std::byte* scratch) const {
    const Phase& phase = phases_[phaseIndex];
    amx::Pass pass{};
    pass.kernels = &kernels_of(Isa::avx512);
    pass.engine = engine_;
    pass.weights = &phase.weights;
    pass.firstPanel = 0;
    pass.endPanel = phase.weights.layout.panels().size();
    pass.unitsOutside = !phase.weights.compact && amx::keeps_weights(phase.weights.bytes() / amx::kTileBytes);
    pass.tables = phase.tables;
    pass.rowBytes = unfolds() ? blocking_.pixel_bytes() : blocking_.colStep * blocking_.pixel_bytes();
    pass.partBytes = blocking_.part_bytes();
    pass.epilogue = epilogue;
    pass.epilogue.bias = biases_[phaseIndex];
    pass.region = region;
    pass.sums = reinterpret_cast<float*>(scratch);
    pass.expanded = scratch + kSumsBytes;
    return pass;
  }

  std::vector<amx::Unit> units_of(const Phase& phase, const ConvBox& box) const {
    const ConvPhase& shape = phase.shape;
    const int64_t frameEnd = std::min(blocking_.frames, box.frame + blocking_.boxFrames);
    const int64_t rowEnd = std::min(shape.rows, box.row + blocking_.boxRows);
    const int64_t colEnd = std::min(shape.cols, box.col + blocking_.boxCols);
    const bool flat = blocking_.arrangement == ConvArrangement::flat;
    std::vector<amx::Unit> units;
    for (int64_t frame = box.frame; frame < frameEnd; ++frame) {
      const int64_t image = (box.clip * blocking_.frames + frame) * shape.rows;
      const int64_t inFrame = (frame - box.frame) * blocking_.frameStep * blocking_.inRows;
      // Flat boxes span whole rows, so that their rows are one run.
      for (int64_t row = box.row; row < rowEnd; row += flat ? rowEnd - box.row : 1) {
        const int64_t length = flat ? (rowEnd - box.row) * shape.cols : colEnd - box.col;
        const int64_t start = (inFrame + (row - box.row) * blocking_.rowStep) * blocking_.inCols;
        for (int64_t i = 0; i < length; i += kSide) {
          add_unit(units, phase, (start + i * blocking_.colStep) * blocking_.pixel_bytes(), (image + row) * shape.cols + box.col + i,
                   std::min<int64_t>(kSide, length - i));
          const int64_t lastRow = flat ? row + (i + units.back().out.count - 1) / shape.cols : row;
          units.back().need = RegionPacker::pieces_through(blocking_, (frame - box.frame) * blocking_.frameStep + blocking_.f.span() - 1,
                                                           (lastRow - box.row) * blocking_.rowStep + blocking_.h.span() - 1);
        }
      }
    }
    return units;
  }

  /** `index`: the first pixel's number over clips, frames, rows and columns of the phase. */
  void add_unit(std::vector<amx::Unit>& units, const Phase& phase, int64_t offset, int64_t index, int64_t n) const {
    const ConvPhase& shape = phase.shape;
    amx::Unit& unit = units.emplace_back();
    unit.offset = offset;
    unit.out.count = static_cast<int>(n);
    int64_t col = index % shape.cols, row = index / shape.cols % shape.rows, image = index / (shape.cols * shape.rows);
    unit.table = unfolds() ? 0 : phase.tableOfFrame[static_cast<size_t>(image % blocking_.frames)];
    for (int r = 0; r < unit.out.count; ++r) {
      const int64_t outRow = shape.firstRow + row * shape.rowStep, outCol = shape.firstCol + col * shape.colStep;
      unit.out.pixel[r] = (image * args_.y.dim(2) + outRow) * args_.y.dim(3) + outCol;
      unit.out.frame[r] = frameMap_.row(unit.out.pixel[r]);
      if (++col < shape.cols) continue;
      col = 0;
      if (++row < shape.rows) continue;
      row = 0;
      ++image;
    }
  }

  ConvArgs args_;
  amx::Engine engine_;
  ClipFrames clip_;
  FrameMap frameMap_;
  ConvAmxBlocking blocking_;
  std::vector<Phase> phases_;
  std::vector<const float*> biases_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_conv_amx(const ConvArgs& args, PackCache& cache, const amx::Engine& engine) {
  return std::make_unique<ConvAmx>(args, cache, engine);
}

}  // namespace vd::cpu
