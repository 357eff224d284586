// A sampler's step in float32: element types and coefficients are looked up once, not for every number, and sums run in the
// definition's order.
//
// Log: 14x16x16 latents, two rows, two cores of a Cascade Lake that others used too, alternately: 1,049 us by the definition, 571 here
#include <algorithm>
#include <cmath>
#include <vector>

#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/tile_epilogue.h"
#include "../sampler_step_philox.h"
#include "threshold.h"

namespace vd::cpu {
namespace {

using device::kMaxTerms;
/** Pixels that a task takes. */
constexpr int64_t kTaskPixels = 1024;

/** Start of pixel `i`. */
float* pixel_of(const Tensor& t, int64_t i) { return t.as<float>() + i * t.pitch; }

class SamplerStepFast final : public PreparedRow {
 public:
  explicit SamplerStepFast(const SamplerStepArgs& args)
      : args_(args),
        pixels_(args.x.pixels()),
        framePixels_(args.x.dim(2) * args.x.dim(3)),
        channels_(args.x.channels()),
        hasData_(args.previous.present() || args.bounds != StepBounds::none),
        numTerms_(args.numHistory + 3),
        columns_(numTerms_ + (hasData_ ? 1 : 0)) {}

  const char* name() const override { return "sampler_step_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    float coefficients[kMaxTerms * kMaxTerms];
    for (int64_t row = 0; row < args_.numHistory + 2 + (hasData_ ? 1 : 0); ++row)
      std::copy_n(args_.coefficients.as<float>() + row * args_.coefficients.pitch, columns_, coefficients + row * columns_);
    const float inputScale = args_.inputScale.present() ? *args_.inputScale.as<float>() : 1.0f;
    if (args_.bounds == StepBounds::threshold) find_threshold(pool, coefficients);
    pool.parallel_for((pixels_ + kTaskPixels - 1) / kTaskPixels, [&](int64_t task, int) {
      const int64_t end = std::min(pixels_, (task + 1) * kTaskPixels);
      for (int64_t i = task * kTaskPixels; i < end; ++i) {
        const float blend = is_blended(i, coefficients) ? args_.blend.as<float>()[0] : 0.0f;
        for (int64_t c = 0; c < channels_; ++c) step(i, c, blend, coefficients);
        if (args_.input.present()) put_input(i, inputScale);
      }
    });
  }

 private:
  float guided(int64_t i, int64_t c) const {
    const float first = pixel_of(args_.prediction, i)[c];
    if (!args_.guidance.present()) return first;
    return first + args_.guidance.as<float>()[i / framePixels_] * (pixel_of(args_.prediction, pixels_ + i)[c] - first);
  }

  float noise(int64_t i, int64_t c) const {
    if (args_.noise.present()) return pixel_of(args_.noise, i)[c];
    if (!args_.philox.present()) return 0.0f;
    const int64_t plane = i / framePixels_ * channels_ + c;
    return device::philox_normal(device::philox_state(args_.philox.as<int32_t>()), plane * framePixels_ + i % framePixels_, args_.lanes);
  }

  /** Sample, prediction, noise and history of one element. */
  void read_terms(int64_t i, int64_t c, float (&terms)[kMaxTerms]) const {
    terms[0] = pixel_of(args_.x, i)[c];
    terms[1] = guided(i, c);
    terms[2] = noise(i, c);
    for (int64_t h = 0; h < args_.numHistory; ++h) terms[3 + h] = pixel_of(args_.history, h * pixels_ + i)[c];
  }

  static float combine(const float* coefficients, const float (&terms)[kMaxTerms], int64_t count) {
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += coefficients[k] * terms[k];
    return sum;
  }

  /** The data prediction as the coefficients' last row has it. */
  float unbounded_data(const float (&terms)[kMaxTerms], const float* coefficients) const {
    return combine(coefficients + (2 + args_.numHistory) * columns_, terms, numTerms_);
  }

  void find_threshold(ThreadPool& pool, const float* coefficients) {
    magnitudes_.resize(static_cast<size_t>(pixels_ * channels_));
    pool.parallel_for(pixels_, [&](int64_t i, int) {
      float terms[kMaxTerms];
      for (int64_t c = 0; c < channels_; ++c) {
        read_terms(i, c, terms);
        magnitudes_[static_cast<size_t>(i * channels_ + c)] = std::fabs(unbounded_data(terms, coefficients));
      }
    });
    threshold_ = threshold_of(magnitudes_, args_.quantile, args_.maxValue);
  }

  /** The data prediction within bounds; NaN stays. */
  float predicted_data(const float (&terms)[kMaxTerms], const float* coefficients) const {
    const float data = unbounded_data(terms, coefficients);
    if (args_.bounds == StepBounds::none) return data;
    const float limit = args_.bounds == StepBounds::clip ? args_.clipRange : threshold_;
    const float clipped = data > limit ? limit : data < -limit ? -limit : data;
    return args_.bounds == StepBounds::clip ? clipped : clipped / threshold_;
  }

  float previous(int64_t i, int64_t c) const { return pixel_of(args_.previous, args_.previous.dim(1) == 1 ? i % framePixels_ : i)[c]; }

  /** True if no channel of pixel i is farther from `previous` than the threshold. */
  bool is_blended(int64_t i, const float* coefficients) const {
    if (!args_.previous.present()) return false;
    float terms[kMaxTerms];
    for (int64_t c = 0; c < channels_; ++c) {
      read_terms(i, c, terms);
      if (!(std::fabs(predicted_data(terms, coefficients) - previous(i, c)) <= args_.blend.as<float>()[1])) return false;
    }
    return true;
  }

  /** One element of the results. All its terms are read before any is written, since results may lie where operands were. */
  void step(int64_t i, int64_t c, float blend, const float* coefficients) const {
    float terms[kMaxTerms];
    read_terms(i, c, terms);
    if (hasData_) {
      const float data = predicted_data(terms, coefficients);
      terms[numTerms_] = blend != 0.0f ? data + blend * (previous(i, c) - data) : data;
    }
    pixel_of(args_.next, i)[c] = combine(coefficients, terms, columns_);
    if (args_.denoised.present()) pixel_of(args_.denoised, i)[c] = combine(coefficients + columns_, terms, columns_);
    if (!args_.nextHistory.present()) return;
    for (int64_t h = 0; h < args_.numHistory; ++h)
      pixel_of(args_.nextHistory, h * pixels_ + i)[c] = combine(coefficients + (2 + h) * columns_, terms, columns_);
  }

  /** The denoiser's next input at pixel i of every row. */
  void put_input(int64_t i, float scale) const {
    const int64_t imageChannels = args_.image.present() ? args_.image.channels() : 0, rows = args_.prediction.dim(0);
    const float* next = pixel_of(args_.next, i);
    for (int64_t row = 0; row < rows; ++row) {
      float* input = pixel_of(args_.input, row * pixels_ + i);
      for (int64_t c = 0; c < channels_; ++c) input[c] = scale * next[c];
      if (imageChannels == 0) continue;
      if (rows == 2 && row == 0) std::fill_n(input + channels_, imageChannels, 0.0f);
      else std::copy_n(pixel_of(args_.image, i % framePixels_), imageChannels, input + channels_);
    }
  }

  SamplerStepArgs args_;
  int64_t pixels_, framePixels_, channels_;
  bool hasData_;
  float threshold_ = 1;
  std::vector<float> magnitudes_;
  int64_t numTerms_, columns_;  // of the coefficients: those terms, and the data where there is any
};

}  // namespace

std::unique_ptr<PreparedRow> prepare_sampler_step(const SamplerStepArgs& args, PackCache&, Isa) {
  if (!absent_or_f32(args.prediction) || !absent_or_f32(args.image) || !absent_or_f32(args.input)) return nullptr;
  return std::make_unique<SamplerStepFast>(args);
}

}  // namespace vd::cpu
