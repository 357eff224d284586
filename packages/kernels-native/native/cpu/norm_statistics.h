// Statistics of group normalisation over channels-last tensors of one or two inputs side by side.
//
// Sums and sums of squares are kept in double: squares of floats are exact there, so that a mean of 10^4 standard
// deviations still leaves eight digits of the variance, from one pass over the data. Pixels are summed in blocks of
// fixed size and the blocks added in order, whatever the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../core/tensor.h"
#include "moment_kernels.h"
#include "prepared.h"

namespace vd::cpu {

/** Pixels of a region that a task takes. */
inline constexpr int64_t kNormBlockPixels = 256;

/** One input and the channels of the whole that it holds. */
struct NormPart {
  const float* data;
  int64_t pitch;
  int64_t channels;
  int64_t firstChannel;
};

/** Which pixels and channels share statistics. */
struct NormShape {
  std::vector<NormPart> parts;
  int64_t regions;  // independent sets of pixels, following each other
  int64_t regionPixels;
  int64_t channels;
  int64_t groups;

  /** Of the arguments of group_norm or group_norm_stats, float32 ones. */
  template <class Args> explicit NormShape(const Args& a) : channels(0), groups(a.groups) {
    for (const Tensor* t : {&a.x, &a.x2}) {
      if (!t->present()) continue;
      parts.push_back({t->template as<float>(), t->pitch, t->channels(), channels});
      channels += t->channels();
    }
    regions = a.joinFrames ? a.x.dim(0) : a.x.dim(0) * a.x.dim(1);
    regionPixels = regions > 0 ? a.x.pixels() / regions : 0;
  }
  int64_t blocks() const { return (regionPixels + kNormBlockPixels - 1) / kNormBlockPixels; }
  int64_t group_channels() const { return channels / groups; }
};

/** Finds mean and 1/sqrt(var + eps) per region and group. */
class NormStatistics {
 public:
  NormStatistics(NormShape shape, float eps, Isa isa);
  /** Scratch of channel sums that a worker needs. */
  size_t scratch_bytes() const { return static_cast<size_t>(2 * shape_.channels) * sizeof(double); }
  /** stats [regions, groups, 2] with `pitch` floats from one group to the next, for regions [first, end). */
  void run(ThreadPool& pool, const Scratch& scratch, float* stats, int64_t pitch, int64_t first, int64_t end);
  /** Those of one region of a single block, with a worker's scratch. */
  void run_region(int64_t region, std::byte* scratch, float* stats, int64_t pitch);

 private:
  void sum_block(int64_t region, int64_t block, double* channelSums);
  void finish(int64_t region, float* out, int64_t pitch, double* totals) const;

  NormShape shape_;
  float eps_;
  const MomentKernels& kernels_;
  std::vector<double> sums_;
};

}  // namespace vd::cpu
