// Element-wise expressions in one pass over memory.
#include <algorithm>
#include <iterator>

#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "elementwise_kernels.h"

namespace vd::cpu {
namespace {

/** Elements that a task takes, in whole tokens. */
constexpr int64_t kTaskElements = 16384;

/** An operand whose sizes are those of the result or 1. */
class Operand {
 public:
  Operand(const Tensor& t, const Tensor& full) : tensor_(t), frames_(full.dim(1)), tokens_(full.dim(2)) {
    if (!t.present()) return;
    const int64_t frame = t.pitch * t.dim(2);
    steps_[0] = t.dim(0) > 1 ? frame * t.dim(1) : 0;
    steps_[1] = t.dim(1) > 1 ? frame : 0;
    steps_[2] = t.dim(2) > 1 ? t.pitch : 0;
    one_ = t.channels() == 1 && full.channels() > 1;
    whole_ = t.pixels() == full.pixels() && t.channels() == full.channels() && t.pitch == t.channels();
  }
  /** Its numbers for a token and, where it has no gaps and is not broadcast, for all behind it. */
  const float* at(int64_t token) const {
    if (!tensor_.present()) return nullptr;
    const int64_t frame = token / tokens_;
    return tensor_.as<float>() + frame / frames_ * steps_[0] + frame % frames_ * steps_[1] + token % tokens_ * steps_[2];
  }
  bool one() const { return one_; }
  /** One number for the whole result, or every element behind the other. */
  bool dense() const { return !tensor_.present() || whole_ || tensor_.count() == 1; }
  bool single() const { return tensor_.present() && tensor_.count() == 1; }

 private:
  Tensor tensor_;
  int64_t frames_, tokens_;
  int64_t steps_[3] = {0, 0, 0};
  bool one_ = false, whole_ = false;
};

class Elementwise final : public PreparedRow {
 public:
  Elementwise(const ElementwiseArgs& args, const ElementwiseKernels& kernels)
      : args_(args),
        kernels_(kernels),
        operands_{{args.a, args.a}, {args.b, args.a}, {args.c, args.a}, {args.d, args.a}},
        dense_(args.y.pitch == args.y.channels() &&
               std::all_of(std::begin(operands_), std::end(operands_), [](const Operand& o) { return o.dense(); })) {}

  const char* name() const override { return "elementwise_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t tokens = args_.y.pixels(), channels = args_.y.channels();
    const int64_t block = std::max<int64_t>(1, kTaskElements / channels);
    pool.parallel_for((tokens + block - 1) / block, [&](int64_t task, int) {
      const int64_t first = task * block, end = std::min(tokens, first + block);
      // Without gaps and broadcasts the tokens are one long row.
      if (dense_) return row(first, (end - first) * channels);
      for (int64_t token = first; token < end; ++token) row(token, channels);
    });
  }

 private:
  void row(int64_t token, int64_t count) const {
    ElementwiseRun run{};
    for (int i = 0; i < 4; ++i) {
      run.operands[i] = operands_[i].at(token);
      run.one[i] = operands_[i].one() || (dense_ && operands_[i].single() && count > 1);
    }
    run.y = args_.y.as<float>() + token * args_.y.pitch;
    run.count = count;
    kernels_.evaluate(run, args_.code, static_cast<int>(std::size(args_.code)), args_.constants);
  }

  ElementwiseArgs args_;
  const ElementwiseKernels& kernels_;
  Operand operands_[4];
  bool dense_;
};

}  // namespace

/** y may be a. */
std::unique_ptr<PreparedRow> prepare_elementwise(const ElementwiseArgs& args, PackCache&, const Target& target) {
  const bool fits =
      args.a.dtype == DType::f32 && args.y.dtype == DType::f32 && absent_or_f32(args.b) && absent_or_f32(args.c) && absent_or_f32(args.d);
  if (!fits) return nullptr;
  return std::make_unique<Elementwise>(args, elementwise_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
