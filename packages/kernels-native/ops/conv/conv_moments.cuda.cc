// Plans the launches behind a convolution that find the moments of its result.
#include "../../native/cuda/planning/channel_moments.h"
#include "conv_plans.h"

namespace vd {

namespace {

/** The tile whose kernel is the only one where a plan is batch-invariant, since kernels add up in orders of their own: by the filters
 * alone. Wide tiles pay where reductions are long. */
const char* invariant_tile(const ConvArgs& a) {
  constexpr int64_t kLongReduction = 768;
  const int64_t columns = a.y.channels(), reduction = a.weight.count() / a.weight.dim(0);
  if (columns % 256 == 0 && reduction >= kLongReduction) return "sm90_m128n256w";
  return columns % 128 != 0 && columns % 160 == 0 ? "sm90_m128n160ps" : "sm90_m128n128ps";
}

}  // namespace

void add_conv_moments(const ConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  cuda::add_channel_moments({"conv", a.y, a.moments, invariant_tile(a)}, device, out);
}

}  // namespace vd
