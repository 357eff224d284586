// The definition of quantize.
#include <algorithm>
#include <atomic>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

constexpr int64_t kBlock = 128;

/** The largest magnitude of channels [from, to) of token i; NaN does not count. */
float largest(const Tensor& x, int64_t i, int64_t from, int64_t to) {
  float found = 0;
  for (int64_t c = from; c < to; ++c)
    if (const float v = std::fabs(at(x, i, c)); v > found) found = v;
  return found;
}

float scale_of(const QuantizeArgs& a, float magnitude) {
  return std::max(magnitude / (a.y.dtype == DType::i8 ? 127.0f : kFloat8Max), 0x1p-126f);
}

/** The largest magnitude of the whole tensor. */
float largest_of_all(const Tensor& x, ThreadPool& pool) {
  // Magnitudes are in the order of their bits.
  std::atomic<uint32_t> found{0};
  pool.parallel_for(x.pixels(), [&](int64_t i, int) {
    const auto bits = std::bit_cast<uint32_t>(largest(x, i, 0, x.channels()));
    uint32_t before = found.load();
    while (bits > before && !found.compare_exchange_weak(before, bits)) {
    }
  });
  return std::bit_cast<float>(found.load());
}

}  // namespace

void quantize_reference(const QuantizeArgs& a, ThreadPool& pool) {
  const bool whole = a.per == ScalesPer::tensor;
  const int64_t C = a.x.channels(), width = a.per == ScalesPer::block ? kBlock : C;
  float common = 1;
  if (whole) common = a.scale.present() ? at(a.scale, 0, 0) : scale_of(a, largest_of_all(a.x, pool));
  pool.parallel_for(a.x.pixels(), [&](int64_t i, int) {
    for (int64_t g = 0; g * width < C; ++g) {
      const int64_t from = g * width, to = std::min(from + width, C);
      const float scale = whole ? common : a.scale.present() ? at(a.scale, i, g) : scale_of(a, largest(a.x, i, from, to));
      const float inverse = 1.0f / scale;
      for (int64_t c = from; c < to; ++c) store_code(a.y.data, a.y.dtype, i * a.y.pitch + c, at(a.x, i, c) * inverse);
      if (a.scales.present() && !whole) put(a.scales, i, g, scale);
    }
  });
  if (a.scales.present() && whole) put(a.scales, 0, 0, common);
}

}  // namespace vd::cpu
