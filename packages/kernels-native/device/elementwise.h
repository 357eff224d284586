// Launch of kernels that compute each element, or each run of eight, on its own.
#pragma once
#include <algorithm>

#include "../native/core/cuda_launch.h"

namespace vd::device {

/** Blocks beyond this many go on with further elements. */
inline constexpr int64_t kMaxElementwiseBlocks = int64_t{1} << 20;

/** A plan of one launch over `count` work items, a thread each. */
template <class Params>
std::vector<cuda::Plan> elementwise_plan(const char* symbol, int64_t count, const Params& params) {
  cuda::Launch launch;
  launch.symbol = symbol;
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(std::min(cuda::ceil_div(count, 256), kMaxElementwiseBlocks));
  launch.set_params(params);
  return {{symbol, 0, {}, {std::move(launch)}}};
}

/** True when runs of eight channels of a tensor lie at multiples of 16 bytes. Absent tensors do. */
inline bool has_wide_channels(const Tensor& t) {
  return !t.present() || (t.channels() % 8 == 0 && t.pitch % 8 == 0 && cuda::aligned16(t.data));
}

}  // namespace vd::device
