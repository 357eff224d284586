// The statistics of GroupNorm alone.
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/norm_statistics.h"
#include "../../../native/cpu/reference.h"
#include "../../../native/cpu/tile_epilogue.h"

namespace vd::cpu {
namespace {

class GroupNormStats final : public PreparedRow {
 public:
  GroupNormStats(const GroupNormStatsArgs& args, Isa isa)
      : out_(args.stats), regions_(NormShape(args).regions), statistics_(NormShape(args), args.eps, isa) {}
  size_t scratch_bytes() const override { return statistics_.scratch_bytes(); }
  const char* name() const override { return "group_norm_stats_fast"; }
  void run(ThreadPool& pool, const Scratch& scratch) override { statistics_.run(pool, scratch, out_.as<float>(), out_.pitch, 0, regions_); }

 private:
  Tensor out_;
  int64_t regions_;
  NormStatistics statistics_;
};

/** Few sums: the definition's. */
class GroupNormStatsOfMoments final : public PreparedRow {
 public:
  explicit GroupNormStatsOfMoments(const GroupNormStatsArgs& args) : args_(args) {}
  const char* name() const override { return "group_norm_stats_of_moments"; }
  void run(ThreadPool& pool, const Scratch&) override { group_norm_stats_reference(args_, pool); }

 private:
  GroupNormStatsArgs args_;
};

}  // namespace

/** Bit for bit the statistics that group_norm finds itself. */
std::unique_ptr<PreparedRow> prepare_group_norm_stats(const GroupNormStatsArgs& args, PackCache&, const Target& target) {
  if (args.moments.present()) return std::make_unique<GroupNormStatsOfMoments>(args);
  if (args.x.dtype != DType::f32 || !absent_or_f32(args.x2)) return nullptr;
  return std::make_unique<GroupNormStats>(args, resolve_isa(target.isa));
}

}  // namespace vd::cpu
