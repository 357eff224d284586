// Linear layers on the AMX engine. A task takes a block of rows; each tile of 32 rows is split while the tile before is
// multiplied, and each block of sums stored while the next is computed.
//
// Log: 7168 x 64 -> 512 with GEGLU, one core of Sapphire Rapids.
//   SIMD kernel                                   3,517 us
//   tiles, phases one after the other             3,050 us
//   erf as a quotient of polynomials              2,040 us
//   two tiles of split rows instead of a block    1,800 us
// What lost: fetching y, residual and x ahead by software, 5 to 15 % slower: the calls cost more than the misses.
#include <algorithm>
#include <numeric>

#include "../../../native/core/activation.h"
#include "../../../native/cpu/amx_pipeline.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "linear_fast.h"

namespace vd::cpu {
namespace {

using amx::kBlockSide;
using amx::kSide;

constexpr int kPackKind = 3;
/** Split rows that a task keeps: half of a 2 MiB second-level cache; the rest is for weights. */
constexpr int64_t kBlockBytes = int64_t{1} << 20;
constexpr int64_t kMaxBlockRows = 512;
/** Fewer tasks than this, and columns are shared out as well. */
constexpr int64_t kMinTasks = 16;
/** Values that one piece of splitting takes. */
constexpr int64_t kPieceValues = 128;

class LinearAmx final : public PreparedRow {
 public:
  LinearAmx(const LinearArgs& args, PackCache& cache, const amx::Engine& engine)
      : args_(args),
        engine_(engine),
        frameMap_(args.frameBias, args.x.dim(1), args.x.dim(2)),
        padded1_(amx::padded_k(args.x.channels())),
        padded_(padded1_ + (args.x2.present() ? amx::padded_k(args.x2.channels()) : 0)) {
    const bool gated = is_gated(args.act);
    const PanelLayout layout(args.y.channels(), gated, kSide, 2);
    const RowSource rows = linear_rows(args.weight);
    std::vector<int64_t> segments{args.x.channels()};
    if (args.x2.present()) segments.push_back(args.x2.channels());
    const Tensor& w = args.weight;
    const int parts = amx::parts_of(w.dtype, w.dim(0), w.channels(), rows, engine.parts);
    const PackIdentity identity{w.data, kPackKind, {w.dim(0), w.pitch, static_cast<int64_t>(w.dtype), gated}};
    const amx::WeightForm form{segments, parts, amx::keeps_compact(w.dtype, w.count(), parts)};
    weights_ = amx::pack_weights(cache, identity, layout, form, rows);
    bias_ = PackedBias(args.bias, layout);
    plan_tasks();
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(amx::kSumsFloats * 4 + weights_.expanded_bytes() + ringRows_ * row_bytes());
  }

  const char* name() const override { return "linear_amx"; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    Epilogue epilogue = epilogue_of(args_);
    epilogue.bias = bias_.ready();
    const int64_t rows = args_.y.pixels();
    pool.parallel_for((rows + blockRows_ - 1) / blockRows_ * panelGroups_, [&](int64_t task, int worker) {
      const int64_t first = task / panelGroups_ * blockRows_;
      run_block(epilogue, first, std::min(rows, first + blockRows_), task % panelGroups_, scratch.of(worker));
    });
  }

 private:
  /** Splits rows one piece after the other: some rows of few channels, or part of a row. */
  class RowPacker final : public amx::Packer {
   public:
    RowPacker(const LinearAmx& op, int64_t first, int64_t end, std::byte* region)
        : op_(op), first_(first), row_(first), end_(end), region_(region) {}
    void piece() override {
      const int64_t count = std::min(op_.pieceRows_, end_ - row_);
      const int64_t values = std::min(op_.pieceValues_, op_.padded_ - channel_);
      std::byte* out = region_ + (row_ - first_) % op_.ringRows_ * op_.row_bytes() + 2 * channel_;
      const bool second = channel_ >= op_.padded1_;
      const Tensor& t = second ? op_.args_.x2 : op_.args_.x;
      const int64_t from = second ? channel_ - op_.padded1_ : channel_;
      amx::split({t.as<float>() + row_ * t.pitch + from, t.pitch, count, std::min(values, t.channels() - from), out, op_.row_bytes(),
                  2 * op_.padded_, op_.engine_.parts});
      channel_ += values;
      if (channel_ < op_.padded_) return;
      channel_ = 0;
      row_ += count;
    }

   private:
    const LinearAmx& op_;
    int64_t first_, row_, end_;
    int64_t channel_ = 0;
    std::byte* region_;
  };

  int64_t row_bytes() const { return amx::split_pitch(padded_, engine_.parts); }

  void plan_tasks() {
    const int64_t rows = args_.y.pixels();
    blockRows_ = std::clamp<int64_t>(kBlockBytes / row_bytes() / kBlockSide * kBlockSide, kBlockSide, kMaxBlockRows);
    // Smaller blocks as long as that gives more tasks, then groups of panels.
    while (blockRows_ > 128 && (rows + blockRows_ - 1) / blockRows_ < kMinTasks) blockRows_ -= kBlockSide;
    const int64_t blocks = std::max<int64_t>(1, (rows + blockRows_ - 1) / blockRows_);
    const auto numPanels = static_cast<int64_t>(weights_.layout.panels().size());
    panelGroups_ = std::clamp<int64_t>(kMinTasks / 2 / blocks, 1, numPanels);
    // When all panels of a group are run for each tile, two tiles of split rows are enough, and stay close.
    const int64_t groupVecs = (weights_.layout.packed_vecs() + panelGroups_ - 1) / panelGroups_ + 1;
    unitsOutside_ = !weights_.compact && amx::keeps_weights(groupVecs * weights_.steps * weights_.parts);
    ringRows_ = unitsOutside_ ? 2 * kBlockSide : blockRows_;
    // Pieces end where x ends and x2 begins.
    const bool whole = padded_ <= kPieceValues && !args_.x2.present();
    pieceRows_ = whole ? std::min<int64_t>(kPieceValues / padded_, kSide) : 1;
    pieceValues_ = whole ? padded_ : std::gcd(padded1_, kPieceValues);
    rowPieces_ = (padded_ + pieceValues_ - 1) / pieceValues_;
    for (int vecs = 1; vecs <= 2; ++vecs) {
      std::vector<amx::Step> table;
      for (int64_t s = 0; s < weights_.steps; ++s) {
        table.push_back({s * amx::kStepBytes, s * vecs * weights_.parts * amx::kTileBytes});
      }
      tables_[vecs - 1].push_back(std::move(table));
    }
  }

  void run_block(const Epilogue& epilogue, int64_t first, int64_t end, int64_t group, std::byte* scratch) const {
    const auto numPanels = static_cast<int64_t>(weights_.layout.panels().size());
    amx::Pass pass{};
    pass.kernels = &kernels_of(Isa::avx512);
    pass.engine = engine_;
    pass.weights = &weights_;
    pass.firstPanel = static_cast<size_t>(group * numPanels / panelGroups_);
    pass.endPanel = static_cast<size_t>((group + 1) * numPanels / panelGroups_);
    pass.unitsOutside = unitsOutside_;
    pass.tables = tables_;
    pass.rowBytes = row_bytes();
    pass.partBytes = 2 * padded_;
    pass.epilogue = epilogue;
    pass.sums = reinterpret_cast<float*>(scratch);
    pass.expanded = scratch + amx::kSumsFloats * sizeof(float);
    std::byte* region = pass.expanded + weights_.expanded_bytes();
    pass.region = region;
    RowPacker packer(*this, first, end, region);
    engine_.tiles->begin();
    amx::Pipeline(packer).run(pass, units_of(first, end));
    engine_.tiles->end();
  }

  std::vector<amx::Unit> units_of(int64_t first, int64_t end) const {
    std::vector<amx::Unit> units;
    units.reserve(static_cast<size_t>((end - first + kSide - 1) / kSide));
    for (int64_t m = first; m < end; m += kSide) {
      amx::Unit& unit = units.emplace_back();
      unit.offset = (m - first) % ringRows_ * row_bytes();
      unit.table = 0;
      unit.out.count = static_cast<int>(std::min<int64_t>(kSide, end - m));
      unit.need = (m - first + unit.out.count + pieceRows_ - 1) / pieceRows_ * rowPieces_;
      for (int r = 0; r < unit.out.count; ++r) {
        unit.out.pixel[r] = m + r;
        unit.out.frame[r] = frameMap_.row(m + r);
      }
    }
    return units;
  }

  LinearArgs args_;
  amx::Engine engine_;
  FrameMap frameMap_;
  int64_t padded1_, padded_;
  amx::PackedWeights weights_;
  PackedBias bias_;
  int64_t blockRows_ = 0;
  bool unitsOutside_ = false;
  int64_t ringRows_ = 0;
  int64_t panelGroups_ = 1;
  int64_t pieceRows_ = 1;    // of a piece of splitting
  int64_t pieceValues_ = 0;  // and its values per row
  int64_t rowPieces_ = 1;    // pieces that make pieceRows_ whole rows
  std::vector<std::vector<amx::Step>> tables_[2];
};

}  // namespace

std::unique_ptr<PreparedRow> make_linear_amx(const LinearArgs& args, PackCache& cache, const amx::Engine& engine) {
  return std::make_unique<LinearAmx>(args, cache, engine);
}

}  // namespace vd::cpu
