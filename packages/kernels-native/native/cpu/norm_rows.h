// What the inner loops of normalisations run over.
#pragma once
#include <cstdint>

namespace vd::cpu {

/** Contiguous channels of a run of pixels of a normalised tensor. */
struct NormRows {
  const float* x;
  int64_t xPitch;
  float* y;
  int64_t yPitch;
  int64_t numPixels;
  int64_t channels;
};

}  // namespace vd::cpu
