// The definition of group_norm_stats: mean, then the mean squared distance from it, in float64.
#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

float channel(const GroupNormStatsArgs& a, int64_t pixel, int64_t c) {
  const int64_t C = a.x.channels();
  return c < C ? at(a.x, pixel, c) : at(a.x2, pixel, c - C);
}

}  // namespace

void group_norm_stats_reference(const GroupNormStatsArgs& a, ThreadPool& pool) {
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
