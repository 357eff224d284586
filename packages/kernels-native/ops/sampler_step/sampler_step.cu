// sampler_step: guidance, bounds and blend of the data prediction, the sampler's linear combinations and the denoiser's next
// input in one launch. An element a thread, whose terms are all read before its results are written, which may lie in the same
// place; a pixel a thread where a blend depends on all of its channels. Dynamic thresholding first selects its quantile
// (sampler_step_quantile.cuh). A step that has none of noise to draw, bounds and blend has a kernel without code for them, which takes
// fewer registers. Symbols: sampler_step_scalar, sampler_step_data, sampler_step_threshold.
#include "sampler_step_quantile.cuh"

#include "../../device/elementwise.cuh"

using namespace vd::device;

namespace {

/** a / b, with 32 bits where they are enough: 64 take several times as long. */
__device__ __forceinline__ int64_t quotient(int64_t a, int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return a / b;
}

/** The terms of one element, in the order of the coefficients' columns; the data's comes behind them. */
struct Terms {
  float value[kMaxTerms];
};

__device__ __forceinline__ float guided(const SamplerStepParams& p, int64_t pixel, int c) {
  const float first = load_any(p.prediction, p.predictionType, pixel * p.predictionPitch + c);
  if (p.guidance == nullptr) return first;
  const float second = load_any(p.prediction, p.predictionType, (p.pixels + pixel) * p.predictionPitch + c);
  return fmaf(p.guidance[quotient(pixel, p.pixelsPerFrame)], second - first, first);
}

/** kWhole: of a kernel that draws noise, bounds and blends. */
template <bool kWhole> __device__ __forceinline__ float unit_noise(const SamplerStepParams& p, int64_t pixel, int c) {
  if (p.noise != nullptr) return p.noise[pixel * p.noisePitch + c];
  if (!kWhole || p.philox == nullptr) return 0.0f;
  const int64_t frame = quotient(pixel, p.pixelsPerFrame), inFrame = pixel - frame * p.pixelsPerFrame;
  return philox_normal(philox_state(p.philox), (frame * p.channels + c) * p.pixelsPerFrame + inFrame, p.lanes);
}

template <bool kWhole> __device__ __forceinline__ Terms read_terms(const SamplerStepParams& p, int64_t pixel, int c) {
  Terms terms;
  terms.value[0] = p.x[pixel * p.xPitch + c];
  terms.value[1] = guided(p, pixel, c);
  terms.value[2] = unit_noise<kWhole>(p, pixel, c);
#pragma unroll
  for (int h = 0; h < kMaxHistory; ++h)
    terms.value[3 + h] = h < p.numHistory ? p.history[(h * p.pixels + pixel) * p.historyPitch + c] : 0.0f;
  terms.value[kMaxTerms - 1] = 0.0f;
  return terms;
}

/** Row `r` of the coefficients times the terms of one element and its data. */
template <bool kWhole> __device__ __forceinline__ float combine(const SamplerStepParams& p, int r, const Terms& terms, float data) {
  const float* row = p.coefficients + r * p.coefficientsPitch;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kMaxTerms - 1; ++k)
    if (k < p.numHistory + 3) sum = fmaf(row[k], terms.value[k], sum);
  return kWhole && p.hasData ? fmaf(row[p.numHistory + 3], data, sum) : sum;
}

/** The data prediction as the coefficients' last row has it. */
__device__ __forceinline__ float predicted_data(const SamplerStepParams& p, const Terms& terms) {
  return combine<true>(p, 2 + p.numHistory, terms, 0.0f);
}

/** The data within bounds; NaN stays. scale: of thresholding. */
__device__ __forceinline__ float bounded(const SamplerStepParams& p, float data, float scale) {
  if (p.bounds == DataBounds::none) return data;
  const float limit = p.bounds == DataBounds::clip ? p.clipRange : scale;
  const float clipped = data > limit ? limit : data < -limit ? -limit : data;
  return p.bounds == DataBounds::clip ? clipped : clipped / scale;
}

/** The pixel's place in its frame. */
__device__ __forceinline__ int64_t pixel_in_frame(const SamplerStepParams& p, int64_t pixel) {
  return pixel - quotient(pixel, p.pixelsPerFrame) * p.pixelsPerFrame;
}

__device__ __forceinline__ float previous(const SamplerStepParams& p, int64_t pixel, int c) {
  return p.previous[(p.previousIsOneFrame ? pixel_in_frame(p, pixel) : pixel) * p.previousPitch + c];
}

/** True if no channel of a pixel is farther from `previous` than the threshold. */
__device__ __forceinline__ bool is_blended(const SamplerStepParams& p, int64_t pixel, float scale) {
  if (p.previous == nullptr) return false;
  for (int c = 0; c < p.channels; ++c) {
    const float data = bounded(p, predicted_data(p, read_terms<true>(p, pixel, c)), scale);
    if (!(fabsf(data - previous(p, pixel, c)) <= p.blend[1])) return false;
  }
  return true;
}

/** One element of the sample, its history, and its place in every row of the next input. */
template <bool kWhole>
__device__ __forceinline__ void step_element(const SamplerStepParams& p, int64_t pixel, int c, float scale, bool blended) {
  const Terms terms = read_terms<kWhole>(p, pixel, c);
  float data = 0.0f;
  if (kWhole && p.hasData) {
    data = bounded(p, predicted_data(p, terms), scale);
    if (blended) data = fmaf(p.blend[0], previous(p, pixel, c) - data, data);
  }
  const float next = combine<kWhole>(p, 0, terms, data);
  p.next[pixel * p.nextPitch + c] = next;
  if (p.denoised != nullptr) p.denoised[pixel * p.denoisedPitch + c] = combine<kWhole>(p, 1, terms, data);
  for (int h = 0; h < p.numHistory && p.nextHistory != nullptr; ++h)
    p.nextHistory[(h * p.pixels + pixel) * p.nextHistoryPitch + c] = combine<kWhole>(p, 2 + h, terms, data);
  if (p.input == nullptr) return;
  const float inputScale = p.inputScale == nullptr ? 1.0f : *p.inputScale;
  for (int row = 0; row < p.rows; ++row) store_any(p.input, p.inputType, (row * p.pixels + pixel) * p.inputPitch + c, inputScale * next);
}

/** Every `step`-th of the picture's channels of the next input from `first` on, zero in the unconditional row. */
__device__ __forceinline__ void put_image(const SamplerStepParams& p, int64_t pixel, int first, int step) {
  if (p.input == nullptr) return;
  for (int c = first; c < p.imageChannels; c += step) {
    const float v = load_any(p.image, p.imageType, pixel_in_frame(p, pixel) * p.imagePitch + c);
    for (int row = 0; row < p.rows; ++row)
      store_any(p.input, p.inputType, (row * p.pixels + pixel) * p.inputPitch + p.channels + c, p.rows == 2 && row == 0 ? 0.0f : v);
  }
}

/** The step of every element on its own. */
template <bool kWhole> __device__ __forceinline__ void step_elements(const SamplerStepParams& p, float scale) {
  for_each_item(p.pixels * p.channels, [&](int64_t i) {
    const int64_t pixel = quotient(i, p.channels);
    const int c = static_cast<int>(i - pixel * p.channels);
    step_element<kWhole>(p, pixel, c, scale, false);
    put_image(p, pixel, c, p.channels);
  });
}

/** The step of every pixel, whose channels decide together whether it is blended. */
__device__ __forceinline__ void step_pixels(const SamplerStepParams& p, float scale) {
  for_each_item(p.pixels, [&](int64_t pixel) {
    const bool blended = is_blended(p, pixel, scale);
    for (int c = 0; c < p.channels; ++c) step_element<true>(p, pixel, c, scale, blended);
    put_image(p, pixel, 0, 1);
  });
}

template <bool kWhole> __device__ __forceinline__ void sampler_step(const SamplerStepParams& p) {
  if (kWhole && p.previous != nullptr) step_pixels(p, 1.0f);
  else step_elements<kWhole>(p, 1.0f);
}

/** Waits for all blocks several times, so it must be launched as one that has all of them resident. */
__device__ __forceinline__ void sampler_step_of_threshold(const SamplerStepThresholdParams& p) {
  const SamplerStepParams& step = p.step;
  const float scale = select_scale(p, [&](auto&& visit) {
    for_each_item(step.pixels * step.channels, [&](int64_t i) {
      const int64_t pixel = quotient(i, step.channels);
      visit(i, predicted_data(step, read_terms<true>(step, pixel, static_cast<int>(i - pixel * step.channels))));
    });
  });
  if (step.previous != nullptr) step_pixels(step, scale);
  else step_elements<true>(step, scale);
}

}  // namespace

VD_KERNEL(sampler_step_scalar, SamplerStepParams, 256, 4, sampler_step<false>)
VD_KERNEL(sampler_step_data, SamplerStepParams, 256, 4, sampler_step<true>)
VD_KERNEL(sampler_step_threshold, SamplerStepThresholdParams, kThresholdThreads, 1, sampler_step_of_threshold)
