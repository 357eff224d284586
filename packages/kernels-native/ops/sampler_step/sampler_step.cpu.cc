// The definition of sampler_step.
#include <vector>

#include "../../native/cpu/reference.h"
#include "cpu/threshold.h"
#include "sampler_step_philox.h"

namespace vd::cpu {
namespace {

/** Sample, prediction, noise, history, data of one element. */
using Terms = float[device::kMaxTerms];

/** A step and what all its elements share. */
struct Step {
  const SamplerStepArgs& a;
  int64_t pixels, framePixels;
  /** Of terms in front of the data, and whether there is data. */
  int64_t numTerms;
  bool hasData;
  /** Of thresholding. */
  float scale = 1;

  explicit Step(const SamplerStepArgs& args)
      : a(args),
        pixels(args.x.pixels()),
        framePixels(args.x.dims[2] * args.x.dims[3]),
        numTerms(args.numHistory + 3),
        hasData(args.previous.present() || args.bounds != StepBounds::none) {}

  /** The prediction at element (i, c), guided where there are two rows. */
  float guided(int64_t i, int64_t c) const {
    const float first = at(a.prediction, i, c);
    if (!a.guidance.present()) return first;
    return first + at(a.guidance, 0, i / framePixels) * (at(a.prediction, pixels + i, c) - first);
  }

  float noise(int64_t i, int64_t c) const {
    if (a.noise.present()) return at(a.noise, i, c);
    if (!a.philox.present()) return 0;
    const int64_t plane = i / framePixels * a.x.channels() + c;
    return device::philox_normal(device::philox_state(a.philox.as<int32_t>()), plane * framePixels + i % framePixels, a.lanes);
  }

  void read_terms(int64_t i, int64_t c, Terms& terms) const {
    terms[0] = at(a.x, i, c);
    terms[1] = guided(i, c);
    terms[2] = noise(i, c);
    for (int64_t h = 0; h < a.numHistory; ++h) terms[3 + h] = at(a.history, h * pixels + i, c);
  }

  /** Row `r` of the coefficients times `count` terms. */
  float combine(int64_t r, const Terms& terms, int64_t count) const {
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += at(a.coefficients, r, k) * terms[k];
    return sum;
  }

  /** The data prediction as the coefficients' last row has it. */
  float predicted_data(const Terms& terms) const { return combine(2 + a.numHistory, terms, numTerms); }

  /** The data within bounds; NaN stays. */
  float bounded(float data) const {
    if (a.bounds == StepBounds::none) return data;
    const float limit = a.bounds == StepBounds::clip ? a.clipRange : scale;
    const float clipped = data > limit ? limit : data < -limit ? -limit : data;
    return a.bounds == StepBounds::clip ? clipped : clipped / scale;
  }

  float previous(int64_t i, int64_t c) const { return at(a.previous, a.previous.dims[1] == 1 ? i % framePixels : i, c); }

  /** True if no channel of pixel i is farther from `previous` than the threshold. */
  bool is_blended(int64_t i) const {
    if (!a.previous.present()) return false;
    Terms terms;
    for (int64_t c = 0; c < a.x.channels(); ++c) {
      read_terms(i, c, terms);
      if (!(std::fabs(bounded(predicted_data(terms)) - previous(i, c)) <= at(a.blend, 0, 1))) return false;
    }
    return true;
  }

  /** One element of the results. All its terms are read before any is written, since results may lie where operands were. */
  void element(int64_t i, int64_t c, bool blended) const {
    Terms terms;
    read_terms(i, c, terms);
    if (hasData) {
      const float data = bounded(predicted_data(terms));
      terms[numTerms] = blended ? data + at(a.blend, 0, 0) * (previous(i, c) - data) : data;
    }
    const int64_t count = numTerms + (hasData ? 1 : 0);
    put(a.next, i, c, combine(0, terms, count));
    if (a.denoised.present()) put(a.denoised, i, c, combine(1, terms, count));
    for (int64_t h = 0; h < a.numHistory && a.nextHistory.present(); ++h)
      put(a.nextHistory, h * pixels + i, c, combine(2 + h, terms, count));
  }

  /** The denoiser's next input at pixel i of every row. */
  void put_input(int64_t i) const {
    const int64_t C = a.x.channels(), C2 = a.image.present() ? a.image.channels() : 0, rows = a.prediction.dims[0];
    const float inputScale = a.inputScale.present() ? at(a.inputScale, 0, 0) : 1;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t c = 0; c < C; ++c) put(a.input, row * pixels + i, c, inputScale * at(a.next, i, c));
      for (int64_t c = 0; c < C2; ++c) put(a.input, row * pixels + i, C + c, rows == 2 && row == 0 ? 0 : at(a.image, i % framePixels, c));
    }
  }

  /** The quantile of the data's magnitudes, between 1 and the largest that is allowed. */
  float threshold_scale(ThreadPool& pool) const {
    const int64_t C = a.x.channels();
    std::vector<float> magnitudes(static_cast<size_t>(pixels * C));
    pool.parallel_for(pixels, [&](int64_t i, int) {
      Terms terms;
      for (int64_t c = 0; c < C; ++c) {
        read_terms(i, c, terms);
        magnitudes[static_cast<size_t>(i * C + c)] = std::fabs(predicted_data(terms));
      }
    });
    return threshold_of(magnitudes, a.quantile, a.maxValue);
  }
};

}  // namespace

void sampler_step_reference(const SamplerStepArgs& a, ThreadPool& pool) {
  Step step(a);
  if (a.bounds == StepBounds::threshold) step.scale = step.threshold_scale(pool);
  pool.parallel_for(step.pixels, [&](int64_t i, int) {
    const bool blended = step.is_blended(i);
    for (int64_t c = 0; c < a.x.channels(); ++c) step.element(i, c, blended);
    if (a.input.present()) step.put_input(i);
  });
}

}  // namespace vd::cpu
