// The definition of pool: every window element by element, channels innermost.
#include <algorithm>
#include <limits>
#include <vector>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** Source indices of one axis that a window covers. */
struct Range {
  int64_t begin, end;
};

Range range_of(const PoolArgs& a, int axis, int64_t place) {
  const int64_t first = place * a.stride[axis] - a.padding[2 * axis];
  return {std::max<int64_t>(first, 0), std::min(first + a.kernel[axis], a.x.dims[1 + axis])};
}

/** The larger one; NaN, where there is one, is the largest, as in PyTorch. */
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

/** Channels of the window of output pixel `i`, into `sums`. */
void take_window(const PoolArgs& a, int64_t i, std::vector<double>& sums) {
  const bool isMax = a.mode == PoolMode::max;
  const int64_t Q = a.y.dims[3], P = a.y.dims[2], G = a.y.dims[1], C = a.x.channels();
  const Range f = range_of(a, 0, i / (Q * P) % G), h = range_of(a, 1, i / Q % P), w = range_of(a, 2, i % Q);
  std::fill(sums.begin(), sums.end(), isMax ? -std::numeric_limits<double>::infinity() : 0.0);
  for (int64_t frame = f.begin; frame < f.end; ++frame)
    for (int64_t row = h.begin; row < h.end; ++row)
      for (int64_t column = w.begin; column < w.end; ++column) {
        const int64_t pixel = ((i / (Q * P * G) * a.x.dims[1] + frame) * a.x.dims[2] + row) * a.x.dims[3] + column;
        for (int64_t c = 0; c < C; ++c) {
          double& sum = sums[static_cast<size_t>(c)];
          sum = isMax ? larger(sum, at(a.x, pixel, c)) : sum + at(a.x, pixel, c);
        }
      }
  if (isMax) return;
  const int64_t inside = (f.end - f.begin) * (h.end - h.begin) * (w.end - w.begin);
  const auto count = static_cast<double>(a.countIncludePad ? a.kernel[0] * a.kernel[1] * a.kernel[2] : inside);
  for (double& sum : sums) sum /= count;
}

}  // namespace

void pool_reference(const PoolArgs& a, ThreadPool& pool) {
  const int64_t Q = a.y.dims[3];
  pool.parallel_for(a.y.pixels() / Q, [&](int64_t line, int) {
    std::vector<double> sums(static_cast<size_t>(a.x.channels()));
    for (int64_t q = 0; q < Q; ++q) {
      take_window(a, line * Q + q, sums);
      for (int64_t c = 0; c < a.x.channels(); ++c) put(a.y, line * Q + q, c, static_cast<float>(sums[static_cast<size_t>(c)]));
    }
  });
}

}  // namespace vd::cpu
