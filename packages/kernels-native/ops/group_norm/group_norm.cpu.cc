// The definition of group_norm: statistics as group_norm_stats, then scale, shift and activation per element.
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {

void group_norm_reference(const GroupNormArgs& a, ThreadPool& pool) {
  const int64_t B = a.x.dims[0], F = a.x.dims[1], HW = a.x.dims[2] * a.x.dims[3], C = a.x.channels();
  const int64_t width = a.y.channels() / a.groups, frames = a.joinFrames ? 1 : F;
  std::vector<float> own(static_cast<size_t>(B * frames * a.groups * 2));
  Tensor stats = a.stats;
  if (!stats.present()) {
    stats = Tensor{own.data(), DType::f32, 4, {B, frames, a.groups, 2}, 2, false};
    GroupNormStatsArgs statistics{};
    statistics.x = a.x;
    statistics.x2 = a.x2;
    statistics.stats = stats;
    statistics.groups = a.groups;
    statistics.eps = a.eps;
    statistics.joinFrames = a.joinFrames;
    group_norm_stats_reference(statistics, pool);
  }
  pool.parallel_for(B * F * HW, [&](int64_t pixel, int) {
    const int64_t set = (pixel / (F * HW) * frames + (a.joinFrames ? 0 : pixel / HW % F)) * a.groups;
    for (int64_t c = 0; c < a.y.channels(); ++c) {
      const float x = c < C ? at(a.x, pixel, c) : at(a.x2, pixel, c - C);
      const float normed = (x - at(stats, set + c / width, 0)) * at(stats, set + c / width, 1);
      const float v = normed * load_element(a.weight.data, a.weight.dtype, c) + load_element(a.bias.data, a.bias.dtype, c);
      put(a.y, pixel, c, activate(a.act, v));
    }
  });
}

}  // namespace vd::cpu
