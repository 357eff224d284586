// Planes as pixels, a line at a time.
#include "../../../native/cpu/fast_paths.h"

#include "layout_in_kernels.h"

namespace vd::cpu {
namespace {

class LayoutIn final : public PreparedRow {
 public:
  LayoutIn(const LayoutInArgs& args, const LayoutInKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "layout_in_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t C = args_.x.dim(2), H = args_.x.dim(3), W = args_.x.dim(4);
    pool.parallel_for(args_.x.dim(0) * args_.x.dim(1) * H, [&](int64_t line, int) {
      const int64_t frame = line / H, h = line % H;
      float* y = args_.y.as<float>() + line * W * args_.y.pitch;
      const float* x = args_.x.as<float>() + (frame * C * H + h) * args_.x.pitch;
      kernels_.line(y, args_.y.pitch, x, H * args_.x.pitch, W, C, args_.scale, args_.shift);
    });
  }

 private:
  LayoutInArgs args_;
  const LayoutInKernels& kernels_;
};

}  // namespace

/** y must not be x. */
std::unique_ptr<PreparedRow> prepare_layout_in(const LayoutInArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<LayoutIn>(args, layout_in_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
