// Parameters of the sampler_step kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** Most tensors of history that a row may have. */
inline constexpr int32_t kMaxHistory = 8;

struct SamplerStepParams {
  const void* prediction;
  const float* x;
  const float* coefficients;
  const float* guidance;    // null: one row
  const float* noise;       // null: none
  const float* history;
  const void* image;        // null: none
  const float* inputScale;  // null: 1
  float* next;
  float* denoised;          // null: not asked for
  float* nextHistory;       // null: not asked for
  void* input;              // null: not asked for
  int64_t pixels, pixelsPerFrame;  // pixels: of one row
  int64_t predictionPitch, xPitch, coefficientsPitch, noisePitch, historyPitch, imagePitch;
  int64_t nextPitch, denoisedPitch, nextHistoryPitch, inputPitch;
  int32_t rows, channels, imageChannels, numHistory;
  int32_t predictionType, imageType, inputType;
};

}  // namespace vd::device
