// Element-wise combination of up to three tensors in one pass.
#include <algorithm>

#include "../../../native/core/activation.h"
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/tile_epilogue.h"

#include "pointwise_kernels.h"

namespace vd::cpu {
namespace {

/** Elements that a task takes, in whole pixels. */
constexpr int64_t kBlockElements = 16384;

const float* at(const Tensor& t, int64_t pixel) { return t.present() ? t.as<float>() + pixel * t.pitch : nullptr; }

class Pointwise final : public PreparedRow {
 public:
  Pointwise(const PointwiseArgs& args, const PointwiseKernels& kernels)
      : args_(args), kernels_(kernels), frameMap_(args.frameBias, args.a.dim(1), args.a.dim(2)) {
    // Without a frame bias and without gaps between pixels a block is one long row.
    dense_ = !args.frameBias.present();
    for (const Tensor* t : {&args.a, &args.b, &args.c, &args.y}) {
      dense_ = dense_ && (!t->present() || t->pitch == t->channels());
    }
  }

  const char* name() const override { return "pointwise_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t pixels = args_.y.pixels();
    const int64_t channels = args_.y.channels();
    const int64_t block = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, channels));
    pool.parallel_for((pixels + block - 1) / block, [&](int64_t task, int) {
      const int64_t first = task * block;
      const int64_t end = std::min(pixels, first + block);
      if (dense_) return row(first, (end - first) * channels);
      for (int64_t pixel = first; pixel < end; ++pixel) row(pixel, channels);
    });
  }

 private:
  void row(int64_t pixel, int64_t count) const {
    const float* bias = args_.frameBias.present() ? at(args_.frameBias, frameMap_.row(pixel)) : nullptr;
    kernels_.combine(args_.y.as<float>() + pixel * args_.y.pitch, at(args_.a, pixel), at(args_.b, pixel), at(args_.c, pixel), bias, count,
                     args_.aScale, args_.bScale, args_.act);
  }

  PointwiseArgs args_;
  const PointwiseKernels& kernels_;
  FrameMap frameMap_;
  bool dense_ = false;
};

}  // namespace

/** y may be any of the inputs. */
std::unique_ptr<PreparedRow> prepare_pointwise(const PointwiseArgs& args, PackCache&, const Target& target) {
  const bool fits = args.a.dtype == DType::f32 && args.y.dtype == DType::f32 && absent_or_f32(args.b) && absent_or_f32(args.c) &&
                    absent_or_f32(args.frameBias) && !is_gated(args.act);
  if (!fits) return nullptr;
  return std::make_unique<Pointwise>(args, pointwise_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
