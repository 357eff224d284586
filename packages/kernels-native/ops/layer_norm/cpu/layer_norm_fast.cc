// LayerNorm over the last dimension: rows in blocks, each row read from the cache for its second and third pass.
#include <algorithm>
#include <vector>

#include "../../../native/core/float_element.h"
#include "../../../native/cpu/fast_paths.h"

#include "layer_norm_kernels.h"

namespace vd::cpu {
namespace {

constexpr int64_t kBlockRows = 64;

std::vector<float> as_floats(const Tensor& t) {
  std::vector<float> values(static_cast<size_t>(t.channels()));
  for (int64_t i = 0; i < t.channels(); ++i) values[static_cast<size_t>(i)] = load_element(t.data, t.dtype, i);
  return values;
}

class LayerNorm final : public PreparedRow {
 public:
  LayerNorm(const LayerNormArgs& args, const LayerNormKernels& kernels) : args_(args), kernels_(kernels) {}

  const char* name() const override { return "layer_norm_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    // Read anew for each run: a few hundred floats, which need not be constant.
    weight_ = as_floats(args_.weight);
    bias_ = as_floats(args_.bias);
    const int64_t pixels = args_.x.pixels();
    pool.parallel_for((pixels + kBlockRows - 1) / kBlockRows, [&](int64_t block, int) {
      const int64_t first = block * kBlockRows;
      NormRows rows{};
      rows.x = args_.x.as<float>() + first * args_.x.pitch;
      rows.xPitch = args_.x.pitch;
      rows.y = args_.y.as<float>() + first * args_.y.pitch;
      rows.yPitch = args_.y.pitch;
      rows.numPixels = std::min(kBlockRows, pixels - first);
      rows.channels = args_.x.channels();
      kernels_.normalise_rows(rows, weight_.data(), bias_.data(), args_.eps);
    });
  }

 private:
  LayerNormArgs args_;
  const LayerNormKernels& kernels_;
  std::vector<float> weight_, bias_;
};

}  // namespace

/** y may be x. */
std::unique_ptr<PreparedRow> prepare_layer_norm(const LayerNormArgs& args, PackCache&, Isa isa) {
  const bool fits = args.x.dtype == DType::f32 && args.y.dtype == DType::f32 && is_float(args.weight.dtype) &&
                    is_float(args.bias.dtype);
  if (!fits) return nullptr;
  return std::make_unique<LayerNorm>(args, layer_norm_kernels_of(resolve_isa(isa)));
}

}  // namespace vd::cpu
