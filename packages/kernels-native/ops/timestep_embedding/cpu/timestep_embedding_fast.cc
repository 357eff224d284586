// Embeddings of numbers: frequencies are computed once, when the row is prepared. Bit for bit the definition's.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {
namespace {

/** Frequencies that a task takes: a cosine and a sine of each take about 50 ns. */
constexpr int64_t kTaskFrequencies = 512;

class TimestepEmbedding final : public PreparedRow {
 public:
  explicit TimestepEmbedding(const TimestepEmbeddingArgs& args) : args_(args) {
    const int64_t half = args.width / 2;
    const auto rate = static_cast<float>(-std::log(static_cast<double>(args.maxPeriod)));
    frequencies_.reserve(static_cast<size_t>(half));
    for (int64_t j = 0; j < half; ++j) {
      const float exponent = rate * static_cast<float>(j) / (static_cast<float>(half) - args.downscaleShift);
      frequencies_.push_back(static_cast<float>(std::exp(static_cast<double>(exponent))));
    }
  }

  const char* name() const override { return "timestep_embedding_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t half = args_.width / 2, N = args_.t.channels(), parts = (half + kTaskFrequencies - 1) / kTaskFrequencies;
    pool.parallel_for(args_.t.count() * parts, [&](int64_t task, int) {
      const int64_t i = task / parts, first = task % parts * kTaskFrequencies;
      const float t = args_.t.as<float>()[i / N * args_.t.pitch + i % N];
      float* y = args_.y.as<float>() + i * args_.y.pitch;
      for (int64_t j = first; j < std::min(half, first + kTaskFrequencies); ++j) {
        const auto angle = static_cast<double>(t * frequencies_[static_cast<size_t>(j)]);
        y[j] = static_cast<float>(std::cos(angle));
        y[half + j] = static_cast<float>(std::sin(angle));
      }
    });
  }

 private:
  TimestepEmbeddingArgs args_;
  std::vector<float> frequencies_;
};

}  // namespace

/** Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_timestep_embedding(const TimestepEmbeddingArgs& args, PackCache&, const Target&) {
  if (args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<TimestepEmbedding>(args);
}

}  // namespace vd::cpu
