// Pools over channels-last tensors: the pixels of a window one after the other into the result's.
#include <algorithm>
#include <cstring>

#include "../../../native/cpu/fast_paths.h"

#include "pool_kernels.h"

namespace vd::cpu {
namespace {

/** Source indices of one axis that a window covers. */
struct Range {
  int64_t begin, end;
};

class Pool final : public PreparedRow {
 public:
  Pool(const PoolArgs& args, const PoolKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "pool_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t columns = args_.y.dim(3);
    pool.parallel_for(args_.y.pixels() / columns, [&](int64_t line, int) {
      for (int64_t q = 0; q < columns; ++q) take_window(line, q);
    });
  }

 private:
  Range range(int axis, int64_t place) const {
    const int64_t first = place * args_.stride[axis] - args_.padding[2 * axis];
    return {std::max<int64_t>(first, 0), std::min(first + args_.kernel[axis], args_.x.dim(1 + axis))};
  }

  /** Every window has a pixel: the contract allows no padding above half of the kernel. */
  void take_window(int64_t line, int64_t q) const {
    const bool isMax = args_.mode == PoolMode::max;
    const int64_t P = args_.y.dim(2), G = args_.y.dim(1), C = args_.x.channels();
    const Range f = range(0, line / P % G), h = range(1, line % P), w = range(2, q);
    float* y = args_.y.as<float>() + (line * args_.y.dim(3) + q) * args_.y.pitch;
    bool first = true;
    for (int64_t frame = f.begin; frame < f.end; ++frame)
      for (int64_t row = h.begin; row < h.end; ++row)
        for (int64_t column = w.begin; column < w.end; ++column) {
          const int64_t pixel = ((line / (P * G) * args_.x.dim(1) + frame) * args_.x.dim(2) + row) * args_.x.dim(3) + column;
          const float* x = args_.x.as<float>() + pixel * args_.x.pitch;
          if (first) std::memcpy(y, x, static_cast<size_t>(C) * sizeof(float));
          else if (isMax) kernels_.larger(y, x, C);
          else kernels_.add(y, x, C);
          first = false;
        }
    if (isMax) return;
    const int64_t inside = (f.end - f.begin) * (h.end - h.begin) * (w.end - w.begin);
    const int64_t count = args_.countIncludePad ? args_.kernel[0] * args_.kernel[1] * args_.kernel[2] : inside;
    kernels_.scale(y, 1.0f / static_cast<float>(count), C);
  }

  PoolArgs args_;
  const PoolKernels& kernels_;
};

}  // namespace

/** y must not be x. */
std::unique_ptr<PreparedRow> prepare_pool(const PoolArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<Pool>(args, pool_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
