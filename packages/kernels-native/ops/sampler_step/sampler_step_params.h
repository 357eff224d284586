// Parameters of the sampler_step kernels, and what both backends compute alike.
#pragma once
#include <cstdint>

#include "sampler_step_philox.h"

namespace vd::device {

/** Most tensors of history that a row may have. */
inline constexpr int32_t kMaxHistory = 8;
/** Sample, prediction, noise, history, data. */
inline constexpr int32_t kMaxTerms = 4 + kMaxHistory;

/** Numbers that bound the data prediction, in the order of the contract's words. */
enum class DataBounds : int32_t { none, clip, threshold };

struct SamplerStepParams {
  const void* prediction;
  const float* x;
  const float* coefficients;
  const float* guidance;    // null: one row
  const float* noise;       // null: none
  const int32_t* philox;    // null: none
  const float* history;
  const float* previous;    // null: no blend
  const float* blend;       // weight, threshold
  const void* image;        // null: none
  const float* inputScale;  // null: 1
  float* next;
  float* denoised;          // null: not asked for
  float* nextHistory;       // null: not asked for
  void* input;              // null: not asked for
  int64_t pixels, pixelsPerFrame;  // pixels: of one row
  int64_t predictionPitch, xPitch, coefficientsPitch, noisePitch, historyPitch, previousPitch, imagePitch;
  int64_t nextPitch, denoisedPitch, nextHistoryPitch, inputPitch;
  int64_t lanes;
  int32_t rows, channels, imageChannels, numHistory;
  int32_t predictionType, imageType, inputType;
  int32_t hasData, previousIsOneFrame;
  DataBounds bounds;
  float clipRange;
};

/** Bits of a magnitude that one pass of the selection looks at, from the top: 31 = 11 + 10 + 10. */
inline constexpr int32_t kNumSelectPasses = 3;
inline constexpr int32_t kSelectBins = 2048;
/** Threads of a block of a thresholding step. */
inline constexpr int32_t kThresholdThreads = 1024;

/** What the blocks of a thresholding step share; contents undefined before and after. */
struct ThresholdWork {
  uint32_t bins[kNumSelectPasses][kSelectBins];
  uint32_t above;  // bits of the least magnitude above the selected one
};

struct SamplerStepThresholdParams {
  SamplerStepParams step;
  ThresholdWork* work;
  float* data;  // [pixels, channels], the data prediction
  uint32_t rank;  // of the sorted magnitude at or below the quantile
  float weight;   // of the next one
  float maxValue;
};

/** The divisor of dynamic thresholding, by two neighbours among the sorted magnitudes: their interpolation, which begins at the
 *  nearer end as torch's does, within 1 and `maxValue`; NaN stays. */
VD_PHILOX float threshold_scale(float below, float above, float weight, float maxValue) {
  const float span = above - below;
  const float quantile = weight < 0.5f ? below + weight * span : above - span * (1.0f - weight);
  return quantile < 1.0f ? 1.0f : quantile > maxValue ? maxValue : quantile;
}

}  // namespace vd::device
