// sampler_step: guidance, the sampler's linear combinations and the denoiser's next input in one pass, a pixel a thread: latents
// have 4 channels, and all of a pixel's terms are read before its results are written, which may lie in the same place.
// Symbols: sampler_step_scalar.
#include "../../device/elementwise.cuh"
#include "sampler_step_params.h"

using namespace vd::device;

namespace {

constexpr int kMaxTerms = kMaxHistory + 3;

__device__ __forceinline__ float guided(const SamplerStepParams& p, int64_t pixel, int c) {
  const float first = load_any(p.prediction, p.predictionType, pixel * p.predictionPitch + c);
  if (p.guidance == nullptr) return first;
  const float second = load_any(p.prediction, p.predictionType, (p.pixels + pixel) * p.predictionPitch + c);
  return fmaf(p.guidance[pixel / p.pixelsPerFrame], second - first, first);
}

/** Row `r` of the coefficients times the terms of one element. */
__device__ __forceinline__ float combine(const SamplerStepParams& p, int r, const float (&terms)[kMaxTerms]) {
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kMaxTerms; ++k)
    if (k < p.numHistory + 3) sum = fmaf(p.coefficients[r * p.coefficientsPitch + k], terms[k], sum);
  return sum;
}

/** One element of the sample, its history, and its place in every row of the next input. */
__device__ __forceinline__ void step_element(const SamplerStepParams& p, int64_t pixel, int c) {
  float terms[kMaxTerms];
  terms[0] = p.x[pixel * p.xPitch + c];
  terms[1] = guided(p, pixel, c);
  terms[2] = p.noise == nullptr ? 0.0f : p.noise[pixel * p.noisePitch + c];
#pragma unroll
  for (int h = 0; h < kMaxHistory; ++h) terms[3 + h] = h < p.numHistory ? p.history[(h * p.pixels + pixel) * p.historyPitch + c] : 0.0f;
  const float next = combine(p, 0, terms);
  p.next[pixel * p.nextPitch + c] = next;
  if (p.denoised != nullptr) p.denoised[pixel * p.denoisedPitch + c] = combine(p, 1, terms);
  for (int h = 0; h < p.numHistory && p.nextHistory != nullptr; ++h)
    p.nextHistory[(h * p.pixels + pixel) * p.nextHistoryPitch + c] = combine(p, 2 + h, terms);
  if (p.input == nullptr) return;
  const float scale = p.inputScale == nullptr ? 1.0f : *p.inputScale;
  for (int row = 0; row < p.rows; ++row) store_any(p.input, p.inputType, (row * p.pixels + pixel) * p.inputPitch + c, scale * next);
}

/** The picture's channels of the next input, zero in the unconditional row. */
__device__ __forceinline__ void put_image(const SamplerStepParams& p, int64_t pixel) {
  for (int c = 0; c < p.imageChannels; ++c) {
    const float v = load_any(p.image, p.imageType, pixel % p.pixelsPerFrame * p.imagePitch + c);
    for (int row = 0; row < p.rows; ++row)
      store_any(p.input, p.inputType, (row * p.pixels + pixel) * p.inputPitch + p.channels + c, p.rows == 2 && row == 0 ? 0.0f : v);
  }
}

__device__ __forceinline__ void sampler_step(const SamplerStepParams& p) {
  for_each_item(p.pixels, [&](int64_t pixel) {
    for (int c = 0; c < p.channels; ++c) step_element(p, pixel, c);
    if (p.input != nullptr) put_image(p, pixel);
  });
}

}  // namespace

VD_KERNEL(sampler_step_scalar, SamplerStepParams, 256, 4, sampler_step)
