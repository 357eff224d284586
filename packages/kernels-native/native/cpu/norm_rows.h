// What the inner loops of normalisations run over.
#pragma once
#include <cstdint>
#include <vector>

#include "../core/float_element.h"
#include "../core/tensor.h"

namespace vd::cpu {

/** A vector of a norm's weights in float32; empty for an absent one. */
inline std::vector<float> as_floats(const Tensor& t) {
  std::vector<float> values(t.present() ? static_cast<size_t>(t.channels()) : 0);
  for (size_t i = 0; i < values.size(); ++i) values[i] = load_element(t.data, t.dtype, static_cast<int64_t>(i));
  return values;
}

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
