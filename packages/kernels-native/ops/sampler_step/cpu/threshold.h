// Dynamic thresholding on the CPU, for the definition and the fast path of sampler_step.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "../sampler_step_params.h"
#include "../sampler_step_quantile.h"

namespace vd::cpu {

/** The quantile of a clip's magnitudes, between 1 and `maxValue`. Puts them into another order. */
inline float threshold_of(std::vector<float>& magnitudes, float quantile, float maxValue) {
  const QuantileRank rank = quantile_rank(quantile, static_cast<int64_t>(magnitudes.size()));
  // NaN is the largest, as torch sorts, so that the order is one.
  const auto less = [](float left, float right) { return left < right || (std::isnan(right) && !std::isnan(left)); };
  const auto below = magnitudes.begin() + rank.below;
  std::nth_element(magnitudes.begin(), below, magnitudes.end(), less);
  const float above = rank.weight > 0 ? *std::min_element(below + 1, magnitudes.end(), less) : *below;
  return device::threshold_scale(*below, above, rank.weight, maxValue);
}

}  // namespace vd::cpu
