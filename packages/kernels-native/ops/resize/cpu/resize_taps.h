// Which source elements a resized one takes along an axis, and their weights.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** Up to four source indices along one axis and their weights. */
struct Taps {
  int64_t index[4];
  double weight[4];
  int count;
};

/** Cubic convolution kernel with A = -0.75 at distance x. */
inline double cubic(double x) {
  constexpr double A = -0.75;
  x = std::fabs(x);
  if (x <= 1) return ((A + 2) * x - (A + 3)) * x * x + 1;
  return ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;
}

inline double source_position(int64_t i, int64_t in, int64_t out, bool align_corners, bool clamp_low) {
  const auto index = static_cast<double>(i);
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) * index : 0.0;
  const double position = static_cast<double>(in) / static_cast<double>(out) * (index + 0.5) - 0.5;
  return clamp_low ? std::max(position, 0.0) : position;
}

/** What element `i` of an axis of `out` elements takes of the `in` elements of the source. */
inline Taps taps_of(int64_t i, int64_t in, int64_t out, ResizeMode mode, bool align_corners) {
  if (mode == ResizeMode::nearest) {
    const float scale = static_cast<float>(in) / static_cast<float>(out);
    return {{std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * scale)), in - 1)}, {1}, 1};
  }
  const bool linear = mode == ResizeMode::bilinear;
  const double position = source_position(i, in, out, align_corners, linear);
  const auto first = static_cast<int64_t>(std::floor(position));
  const double t = position - static_cast<double>(first);
  const auto clamped = [in](int64_t j) { return std::clamp<int64_t>(j, 0, in - 1); };
  if (linear) return {{clamped(first), clamped(first + 1)}, {1 - t, t}, 2};
  return {{clamped(first - 1), clamped(first), clamped(first + 1), clamped(first + 2)},
          {cubic(t + 1), cubic(t), cubic(1 - t), cubic(2 - t)},
          4};
}

}  // namespace vd::cpu
