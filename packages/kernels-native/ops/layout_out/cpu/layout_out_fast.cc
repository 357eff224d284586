// Pixels as planes, a line at a time.
#include "../../../native/cpu/fast_paths.h"

#include "layout_out_kernels.h"

namespace vd::cpu {
namespace {

class LayoutOut final : public PreparedRow {
 public:
  LayoutOut(const LayoutOutArgs& args, const LayoutOutKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "layout_out_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t C = args_.x.dim(4), H = args_.x.dim(2), W = args_.x.dim(3);
    pool.parallel_for(args_.x.dim(0) * args_.x.dim(1) * H, [&](int64_t line, int) {
      const int64_t frame = line / H, h = line % H;
      float* y = args_.y.as<float>() + (frame * C * H + h) * args_.y.pitch;
      const float* x = args_.x.as<float>() + line * W * args_.x.pitch;
      kernels_.line(y, H * args_.y.pitch, x, args_.x.pitch, W, C, args_.scale, args_.shift);
    });
  }

 private:
  LayoutOutArgs args_;
  const LayoutOutKernels& kernels_;
};

}  // namespace

/** y must not be x. */
std::unique_ptr<PreparedRow> prepare_layout_out(const LayoutOutArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<LayoutOut>(args, layout_out_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
