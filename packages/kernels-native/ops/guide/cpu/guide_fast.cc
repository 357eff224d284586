// Guidance, a line at a time.
#include "../../../native/cpu/fast_paths.h"

#include "guide_kernels.h"

namespace vd::cpu {
namespace {

class Guide final : public PreparedRow {
 public:
  Guide(const GuideArgs& args, const GuideKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "guide_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const Tensor &x = args_.x, &y = args_.y;
    const int64_t H = x.dim(2), W = x.dim(3), C = x.channels(), pixels = y.pixels();
    const bool isPacked = x.pitch == C && y.pitch == C;
    const int64_t runs = isPacked ? 1 : W, count = isPacked ? W * C : C;
    pool.parallel_for(pixels / W, [&](int64_t line, int) {
      const float scale = args_.scale.as<float>()[line / H];
      for (int64_t i = line * W; i < line * W + runs; ++i) {
        const float* unconditional = x.as<float>() + i * x.pitch;
        kernels_.guide(y.as<float>() + i * y.pitch, unconditional, unconditional + pixels * x.pitch, scale, count);
      }
    });
  }

 private:
  GuideArgs args_;
  const GuideKernels& kernels_;
};

}  // namespace

/** Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_guide(const GuideArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<Guide>(args, guide_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
