// The definition of group_norm_stats: mean, then the mean squared distance from it, in float64.
#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

float channel(const GroupNormStatsArgs& a, int64_t pixel, int64_t c) {
  const int64_t C = a.x.channels();
  return c < C ? at(a.x, pixel, c) : at(a.x2, pixel, c - C);
}

/** Mean or variance (`which`) of channel c of a frame, as they are given. */
double moment(const GroupNormStatsArgs& a, int64_t frame, int64_t c, int64_t which) {
  const int64_t C = a.x.channels();
  return c < C ? at(a.moments, frame * C + c, which) : at(a.moments2, frame * a.x2.channels() + c - C, which);
}

/** Statistics from those of channels, which all count the same: the mean of the means; the mean of the variances, and of what the means lie
 *  apart. */
void from_moments(const GroupNormStatsArgs& a) {
  const int64_t F = a.joinFrames ? a.x.dims[1] : 1;
  const int64_t width = (a.x.channels() + (a.x2.present() ? a.x2.channels() : 0)) / a.groups;
  const auto count = static_cast<double>(F * width);
  for (int64_t i = 0; i < a.stats.dims[0] * a.stats.dims[1] * a.groups; ++i) {
    const int64_t first = i / a.groups * F, c0 = i % a.groups * width;
    const auto sum_over = [&](auto value) {
      double sum = 0;
      for (int64_t f = first; f < first + F; ++f)
        for (int64_t c = c0; c < c0 + width; ++c) sum += value(f, c);
      return sum;
    };
    const double mean = sum_over([&](int64_t f, int64_t c) { return moment(a, f, c, 0); }) / count;
    const double squares = sum_over([&](int64_t f, int64_t c) {
      const double d = moment(a, f, c, 0) - mean;
      return moment(a, f, c, 1) + d * d;
    });
    put(a.stats, i, 0, static_cast<float>(mean));
    put(a.stats, i, 1, static_cast<float>(1.0 / std::sqrt(squares / count + a.eps)));
  }
}

}  // namespace

void group_norm_stats_reference(const GroupNormStatsArgs& a, ThreadPool& pool) {
  if (a.moments.present()) return from_moments(a);
  const int64_t F = a.x.dims[1], HW = a.x.dims[2] * a.x.dims[3];
  const int64_t width = (a.x.channels() + (a.x2.present() ? a.x2.channels() : 0)) / a.groups;
  const int64_t pixels = a.joinFrames ? F * HW : HW;
  pool.parallel_for(a.stats.dims[0] * a.stats.dims[1] * a.groups, [&](int64_t i, int) {
    const int64_t first = i / a.groups * pixels, c0 = i % a.groups * width;
    double sum = 0, squares = 0;
    for (int64_t p = first; p < first + pixels; ++p)
      for (int64_t c = c0; c < c0 + width; ++c) sum += channel(a, p, c);
    const double mean = sum / static_cast<double>(pixels * width);
    for (int64_t p = first; p < first + pixels; ++p)
      for (int64_t c = c0; c < c0 + width; ++c) squares += (channel(a, p, c) - mean) * (channel(a, p, c) - mean);
    put(a.stats, i, 0, static_cast<float>(mean));
    put(a.stats, i, 1, static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(pixels * width) + a.eps)));
  });
}

}  // namespace vd::cpu
