// The definition of sampler_step.
#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** Row `r` of the coefficients times the terms of one element. */
float combine(const Tensor& coefficients, int64_t r, const float* terms, int64_t count) {
  float sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += at(coefficients, r, k) * terms[k];
  return sum;
}

/** The prediction at element (i, c), guided where there are two rows. */
float guided(const SamplerStepArgs& a, int64_t i, int64_t c, int64_t pixels, int64_t frame_pixels) {
  const float first = at(a.prediction, i, c);
  if (!a.guidance.present()) return first;
  return first + at(a.guidance, 0, i / frame_pixels) * (at(a.prediction, pixels + i, c) - first);
}

/** The denoiser's next input at pixel i of every row. */
void put_input(const SamplerStepArgs& a, int64_t i, int64_t pixels, int64_t frame_pixels) {
  const int64_t C = a.x.channels(), C2 = a.image.present() ? a.image.channels() : 0, rows = a.prediction.dims[0];
  const float scale = a.inputScale.present() ? at(a.inputScale, 0, 0) : 1;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < C; ++c) put(a.input, row * pixels + i, c, scale * at(a.next, i, c));
    for (int64_t c = 0; c < C2; ++c) put(a.input, row * pixels + i, C + c, rows == 2 && row == 0 ? 0 : at(a.image, i % frame_pixels, c));
  }
}

}  // namespace

void sampler_step_reference(const SamplerStepArgs& a, ThreadPool& pool) {
  const int64_t frame_pixels = a.x.dims[2] * a.x.dims[3], pixels = a.x.pixels();
  const int64_t history = a.numHistory, count = history + 3;
  pool.parallel_for(pixels, [&](int64_t i, int) {
    for (int64_t c = 0; c < a.x.channels(); ++c) {
      // All terms of an element are read before anything is written, since results may lie where operands were.
      float terms[11] = {at(a.x, i, c), guided(a, i, c, pixels, frame_pixels), a.noise.present() ? at(a.noise, i, c) : 0};
      for (int64_t h = 0; h < history; ++h) terms[3 + h] = at(a.history, h * pixels + i, c);
      put(a.next, i, c, combine(a.coefficients, 0, terms, count));
      if (a.denoised.present()) put(a.denoised, i, c, combine(a.coefficients, 1, terms, count));
      for (int64_t h = 0; h < history && a.nextHistory.present(); ++h)
        put(a.nextHistory, h * pixels + i, c, combine(a.coefficients, 2 + h, terms, count));
    }
    if (a.input.present()) put_input(a, i, pixels, frame_pixels);
  });
}

}  // namespace vd::cpu
