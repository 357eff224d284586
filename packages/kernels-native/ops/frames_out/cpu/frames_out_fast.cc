// Frames as levels, a line at a time.
#include "../../../native/cpu/fast_paths.h"

#include "frames_out_kernels.h"

namespace vd::cpu {
namespace {

class FramesOut final : public PreparedRow {
 public:
  FramesOut(const FramesOutArgs& args, const FramesOutKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "frames_out_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t W = args_.x.dim(3), C = args_.x.channels();
    const bool isPacked = args_.x.pitch == C && args_.y.pitch == C;
    const int64_t runs = isPacked ? 1 : W, count = isPacked ? W * C : C;
    pool.parallel_for(args_.x.pixels() / W, [&](int64_t line, int) {
      for (int64_t i = line * W; i < line * W + runs; ++i)
        kernels_.levels(args_.y.as<uint8_t>() + i * args_.y.pitch, args_.x.as<float>() + i * args_.x.pitch, count);
    });
  }

 private:
  FramesOutArgs args_;
  const FramesOutKernels& kernels_;
};

}  // namespace

/** y is never x, whose elements are of another size. */
std::unique_ptr<PreparedRow> prepare_frames_out(const FramesOutArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32) return nullptr;
  return std::make_unique<FramesOut>(args, frames_out_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
