// The denoiser's input, a line at a time: latents, then the picture's beside them.
#include "../../../native/cpu/fast_paths.h"

#include "denoise_input_kernels.h"

namespace vd::cpu {
namespace {

class DenoiseInput final : public PreparedRow {
 public:
  DenoiseInput(const DenoiseInputArgs& args, const DenoiseInputKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "denoise_input_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const Tensor &latents = args_.latents, &image = args_.image, &y = args_.y;
    const int64_t H = latents.dim(2), W = latents.dim(3), C = latents.channels(), lines = latents.dim(1) * H;
    const float scale = *args_.inputScale.as<float>();
    pool.parallel_for(args_.rows * lines, [&](int64_t line, int) {
      const bool unconditional = args_.rows == 2 && line < lines;
      float* out = y.as<float>() + line * W * y.pitch;
      const float* own = latents.as<float>() + line % lines * W * latents.pitch;
      const float* shown = unconditional ? nullptr : image.as<float>() + line % H * W * image.pitch;
      kernels_.channels({out, y.pitch, own, latents.pitch, W, C, scale});
      kernels_.channels({out + C, y.pitch, shown, image.pitch, W, image.channels(), 1.0f});
    });
  }

 private:
  DenoiseInputArgs args_;
  const DenoiseInputKernels& kernels_;
};

}  // namespace

/** Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_denoise_input(const DenoiseInputArgs& args, PackCache&, const Target& target) {
  if (args.latents.dtype != DType::f32 || args.image.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<DenoiseInput>(args, denoise_input_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
