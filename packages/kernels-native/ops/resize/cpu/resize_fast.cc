// Resizing a pixel at a time: the pixels that it takes one after the other into the result's, by weights that are found once.
#include <cstring>
#include <vector>

#include "../../../native/cpu/fast_paths.h"

#include "resize_kernels.h"
#include "resize_taps.h"

namespace vd::cpu {
namespace {

class Resize final : public PreparedRow {
 public:
  Resize(const ResizeArgs& args, const ResizeKernels& kernels) : args_(args), kernels_(kernels) {
    for (int64_t p = 0; p < args.height; ++p) rows_.push_back(taps_of(p, args.x.dim(2), args.height, args.mode, args.alignCorners));
    for (int64_t q = 0; q < args.width; ++q) columns_.push_back(taps_of(q, args.x.dim(3), args.width, args.mode, args.alignCorners));
  }

  const char* name() const override { return "resize_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    pool.parallel_for(args_.y.pixels() / args_.width, [&](int64_t line, int) {
      for (int64_t q = 0; q < args_.width; ++q) take_pixel(line, q);
    });
  }

 private:
  void take_pixel(int64_t line, int64_t q) const {
    const Taps& rows = rows_[static_cast<size_t>(line % args_.height)];
    const Taps& columns = columns_[static_cast<size_t>(q)];
    const int64_t H = args_.x.dim(2), W = args_.x.dim(3), C = args_.x.channels(), frame = line / args_.height;
    float* y = args_.y.as<float>() + (line * args_.width + q) * args_.y.pitch;
    const auto source = [&](int r, int s) {
      return args_.x.as<float>() + ((frame * H + rows.index[r]) * W + columns.index[s]) * args_.x.pitch;
    };
    if (rows.count == 1) {
      std::memcpy(y, source(0, 0), static_cast<size_t>(C) * sizeof(float));
      return;
    }
    for (int r = 0; r < rows.count; ++r)
      for (int s = 0; s < columns.count; ++s) {
        const auto weight = static_cast<float>(rows.weight[r] * columns.weight[s]);
        (r + s == 0 ? kernels_.first : kernels_.further)(y, source(r, s), weight, C);
      }
  }

  ResizeArgs args_;
  const ResizeKernels& kernels_;
  std::vector<Taps> rows_, columns_;
};

}  // namespace

/** y must not be x. */
std::unique_ptr<PreparedRow> prepare_resize(const ResizeArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<Resize>(args, resize_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
