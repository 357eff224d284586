// A pixel as a block of them: channels that lie behind each other are copied, others taken apart, a line of operands at a time.
#include <cstring>

#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/weave.h"

namespace vd::cpu {
namespace {

class DepthToSpace final : public PreparedRow {
 public:
  DepthToSpace(const DepthToSpaceArgs& args, const WeaveKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "depth_to_space_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    pool.parallel_for(args_.x.pixels() / args_.x.dim(3), [&](int64_t line, int) { take_line(line); });
  }

 private:
  void take_line(int64_t line) const {
    const int64_t bt = args_.block[0], bh = args_.block[1], bw = args_.block[2], places = bt * bh * bw;
    const int64_t H = args_.x.dim(2), W = args_.x.dim(3), P = args_.y.dim(2), Q = args_.y.dim(3), C = args_.y.channels();
    const bool isWoven = args_.order == DepthOrder::channels_first;
    // Clips lie behind each other, and all have whole blocks: frames are counted through them.
    const int64_t firstLine = line / H * bt * P + line % H * bh;
    float* rows[kMaxWoven];
    for (int64_t t = 0; t < bt; ++t)
      for (int64_t h = 0; h < bh; ++h)
        for (int64_t w = 0; w < bw; ++w)
          rows[isWoven ? (t * bh + h) * bw + w : (h * bw + w) * bt + t] =
              args_.y.as<float>() + ((firstLine + t * P + h) * Q + w) * args_.y.pitch;
    const float* x = args_.x.as<float>() + line * W * args_.x.pitch;
    for (int64_t w = 0; w < W; ++w, x += args_.x.pitch) {
      if (isWoven) kernels_.unweave(rows, x, places, C);
      else
        for (int64_t i = 0; i < places; ++i) std::memcpy(rows[i], x + i * C, static_cast<size_t>(C) * sizeof(float));
      for (int64_t i = 0; i < places; ++i) rows[i] += bw * args_.y.pitch;
    }
  }

  DepthToSpaceArgs args_;
  const WeaveKernels& kernels_;
};

}  // namespace

/** Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_depth_to_space(const DepthToSpaceArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<DepthToSpace>(args, weave_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
