#include "norm_statistics.h"

#include <algorithm>
#include <cmath>

namespace vd::cpu {

NormStatistics::NormStatistics(NormShape shape, float eps, Isa isa)
    : shape_(std::move(shape)),
      eps_(eps),
      kernels_(moment_kernels_of(isa)),
      sums_(static_cast<size_t>(2 * shape_.regions * shape_.blocks() * shape_.groups)) {}

void NormStatistics::run(ThreadPool& pool, const Scratch& scratch, float* stats, int64_t pitch, int64_t first, int64_t end) {
  const int64_t blocks = shape_.blocks();
  pool.parallel_for((end - first) * blocks, [&](int64_t task, int worker) {
    sum_block(first + task / blocks, task % blocks, reinterpret_cast<double*>(scratch.of(worker)));
  });
  for (int64_t region = first; region < end; ++region) {
    finish(region, stats + pitch * region * shape_.groups, pitch, reinterpret_cast<double*>(scratch.of(0)));
  }
}

void NormStatistics::run_region(int64_t region, std::byte* scratch, float* stats, int64_t pitch) {
  auto* sums = reinterpret_cast<double*>(scratch);
  sum_block(region, 0, sums);
  finish(region, stats + pitch * region * shape_.groups, pitch, sums);
}

void NormStatistics::sum_block(int64_t region, int64_t block, double* channelSums) {
  double* squares = channelSums + shape_.channels;
  const int64_t first = block * kNormBlockPixels;
  const int64_t count = std::min(kNormBlockPixels, shape_.regionPixels - first);
  for (const NormPart& part : shape_.parts) {
    NormRows rows{};
    rows.x = part.data + (region * shape_.regionPixels + first) * part.pitch;
    rows.xPitch = part.pitch;
    rows.numPixels = count;
    rows.channels = part.channels;
    kernels_.channel_sums(rows, channelSums + part.firstChannel, squares + part.firstChannel);
  }
  double* out = &sums_[static_cast<size_t>(2 * (region * shape_.blocks() + block) * shape_.groups)];
  const int64_t width = shape_.group_channels();
  for (int64_t group = 0; group < shape_.groups; ++group) {
    double sum = 0, square = 0;
    for (int64_t c = group * width; c < (group + 1) * width; ++c) {
      sum += channelSums[c];
      square += squares[c];
    }
    out[2 * group] = sum;
    out[2 * group + 1] = square;
  }
}

void NormStatistics::finish(int64_t region, float* out, int64_t pitch, double* totals) const {
  const int64_t count = 2 * shape_.groups;
  std::fill_n(totals, count, 0.0);
  const double* block = &sums_[static_cast<size_t>(region * shape_.blocks() * count)];
  for (int64_t b = 0; b < shape_.blocks(); ++b, block += count) {
    for (int64_t i = 0; i < count; ++i) totals[i] += block[i];
  }
  const auto values = static_cast<double>(shape_.regionPixels * shape_.group_channels());
  for (int64_t group = 0; group < shape_.groups; ++group, out += pitch) {
    const double mean = totals[2 * group] / values;
    const double variance = std::max(totals[2 * group + 1] / values - mean * mean, 0.0);
    out[0] = static_cast<float>(mean);
    out[1] = static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(eps_)));
  }
}

}  // namespace vd::cpu
