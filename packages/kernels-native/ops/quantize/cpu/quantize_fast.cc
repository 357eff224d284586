// Rounding of tokens to codes: bit for bit the definition's.
#include <algorithm>
#include <atomic>

#include "../../../native/cpu/code_scale.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {
namespace {

constexpr int64_t kBlock = 128;
/** Numbers that a task takes: a scale of its own for each token finds them in the second-level cache again. */
constexpr int64_t kTaskNumbers = 32768;

class Quantize final : public PreparedRow {
 public:
  Quantize(const QuantizeArgs& args, Isa isa) : args_(args), kernels_(code_kernels_of(isa)) {}

  const char* name() const override { return "quantize_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t tokens = args_.x.pixels(), perTask = std::max<int64_t>(1, kTaskNumbers / args_.x.channels());
    const auto in_tasks = [&](const auto& body) {
      pool.parallel_for((tokens + perTask - 1) / perTask, [&](int64_t task, int) {
        for (int64_t i = task * perTask; i < std::min(tokens, (task + 1) * perTask); ++i) body(i);
      });
    };
    if (args_.per != ScalesPer::tensor) return in_tasks([&](int64_t i) { round_token(i); });
    const float scale = args_.scale.present() ? *args_.scale.as<float>() : code_scale(largest_of_all(pool, perTask), args_.y.dtype);
    in_tasks([&](int64_t i) { encode(i, 0, args_.x.channels(), scale); });
    if (args_.scales.present()) *args_.scales.as<float>() = scale;
  }

 private:
  const float* token(int64_t i) const { return args_.x.as<float>() + i * args_.x.pitch; }

  void encode(int64_t i, int64_t from, int64_t count, float scale) const {
    kernels_.encode(token(i) + from, count, 1.0f / scale, args_.y.dtype, args_.y.as<uint8_t>() + i * args_.y.pitch + from);
  }

  void round_token(int64_t i) const {
    const int64_t channels = args_.x.channels(), width = args_.per == ScalesPer::block ? kBlock : channels;
    for (int64_t block = 0; block * width < channels; ++block) {
      const int64_t from = block * width, count = std::min(width, channels - from);
      const float scale = args_.scale.present() ? args_.scale.as<float>()[i * args_.scale.pitch + block]
                                                : code_scale(kernels_.largest(token(i) + from, count), args_.y.dtype);
      encode(i, from, count, scale);
      if (args_.scales.present()) args_.scales.as<float>()[i * args_.scales.pitch + block] = scale;
    }
  }

  /** The largest magnitude of the whole tensor, as bits. */
  int32_t largest_of_all(ThreadPool& pool, int64_t perTask) const {
    const int64_t tokens = args_.x.pixels();
    std::atomic<int32_t> found{0};
    pool.parallel_for((tokens + perTask - 1) / perTask, [&](int64_t task, int) {
      int32_t most = 0;
      for (int64_t i = task * perTask; i < std::min(tokens, (task + 1) * perTask); ++i)
        most = std::max(most, kernels_.largest(token(i), args_.x.channels()));
      int32_t before = found.load();
      while (most > before && !found.compare_exchange_weak(before, most)) {
      }
    });
    return found.load();
  }

  QuantizeArgs args_;
  const CodeKernels& kernels_;
};

}  // namespace

/** Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_quantize(const QuantizeArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32) return nullptr;
  return std::make_unique<Quantize>(args, resolve_isa(target.isa));
}

}  // namespace vd::cpu
