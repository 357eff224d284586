// Where a quantile lies among sorted numbers.
#pragma once
#include <cstdint>

namespace vd {

/** A quantile lies so far above the sorted number `below`, in parts of the way to the next one. */
struct QuantileRank {
  int64_t below;
  float weight;
};

/** The rank of `quantile` among `count` numbers, with torch's rounding of the rank to float32. Source: pytorch/pytorch
 *  aten/src/ATen/native/Sorting.cpp `quantile_compute`. */
inline QuantileRank quantile_rank(float quantile, int64_t count) {
  const float rank = quantile * static_cast<float>(count - 1);
  const int64_t below = static_cast<int64_t>(rank);
  // Rounding may lead one past the end.
  if (below >= count - 1) return {count - 1, 0};
  return {below, rank - static_cast<float>(below)};
}

}  // namespace vd
