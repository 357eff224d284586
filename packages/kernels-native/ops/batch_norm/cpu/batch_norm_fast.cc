// BatchNorm in evaluation: one pass over memory with a factor and an offset for each channel.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../../../native/core/activation.h"
#include "../../../native/core/float_element.h"
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/scale_channels.h"

namespace vd::cpu {
namespace {

/** Elements that a task takes, in whole pixels. */
constexpr int64_t kTaskElements = 16384;

class BatchNorm final : public PreparedRow {
 public:
  BatchNorm(const BatchNormArgs& args, const ScaleChannels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "batch_norm_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    read_vectors();
    const int64_t pixels = args_.x.pixels(), block = std::max<int64_t>(1, kTaskElements / args_.x.channels());
    pool.parallel_for((pixels + block - 1) / block, [&](int64_t task, int) {
      const int64_t first = task * block;
      NormRows rows{};
      rows.x = args_.x.as<float>() + first * args_.x.pitch;
      rows.xPitch = args_.x.pitch;
      rows.y = args_.y.as<float>() + first * args_.y.pitch;
      rows.yPitch = args_.y.pitch;
      rows.numPixels = std::min(block, pixels - first);
      rows.channels = args_.x.channels();
      kernels_.rows(rows, mean_.data(), factor_.data(), bias_.data(), args_.act);
    });
  }

 private:
  /** Anew for each run: a few hundred floats, which need not be constant. */
  void read_vectors() {
    const auto number = [](const Tensor& t, int64_t c, float absent) { return t.present() ? load_element(t.data, t.dtype, c) : absent; };
    const auto channels = static_cast<size_t>(args_.x.channels());
    for (auto* vector : {&mean_, &factor_, &bias_}) vector->resize(channels);
    for (size_t i = 0; i < channels; ++i) {
      const auto c = static_cast<int64_t>(i);
      mean_[i] = number(args_.mean, c, 0);
      factor_[i] =
          static_cast<float>(number(args_.weight, c, 1) / std::sqrt(static_cast<double>(number(args_.variance, c, 1)) + args_.eps));
      bias_[i] = number(args_.bias, c, 0);
    }
  }

  BatchNormArgs args_;
  const ScaleChannels& kernels_;
  std::vector<float> mean_, factor_, bias_;
};

}  // namespace

/** y may be x. */
std::unique_ptr<PreparedRow> prepare_batch_norm(const BatchNormArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32 || is_gated(args.act)) return nullptr;
  return std::make_unique<BatchNorm>(args, scale_channels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
