// A block of pixels as one: their channels are woven into each other, a line of results at a time.
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/weave.h"

namespace vd::cpu {
namespace {

class SpaceToDepth final : public PreparedRow {
 public:
  SpaceToDepth(const SpaceToDepthArgs& args, const WeaveKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "space_to_depth_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    pool.parallel_for(args_.y.pixels() / args_.y.dim(3), [&](int64_t line, int) { take_line(line); });
  }

 private:
  void take_line(int64_t line) const {
    const int64_t bt = args_.block[0], bh = args_.block[1], bw = args_.block[2], places = bt * bh * bw;
    const int64_t H = args_.x.dim(2), W = args_.x.dim(3), P = args_.y.dim(2), Q = args_.y.dim(3);
    // Clips lie behind each other, and all have whole blocks: frames are counted through them.
    const int64_t firstLine = line / P * bt * H + line % P * bh;
    const float* rows[kMaxWoven];
    const float** row = rows;
    for (int64_t t = 0; t < bt; ++t)
      for (int64_t h = 0; h < bh; ++h)
        for (int64_t w = 0; w < bw; ++w) *row++ = args_.x.as<float>() + ((firstLine + t * H + h) * W + w) * args_.x.pitch;
    float* y = args_.y.as<float>() + line * Q * args_.y.pitch;
    for (int64_t q = 0; q < Q; ++q, y += args_.y.pitch) {
      kernels_.weave(y, rows, places, args_.x.channels());
      for (int64_t i = 0; i < places; ++i) rows[i] += bw * args_.x.pitch;
    }
  }

  SpaceToDepthArgs args_;
  const WeaveKernels& kernels_;
};

}  // namespace

/** Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_space_to_depth(const SpaceToDepthArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<SpaceToDepth>(args, weave_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
