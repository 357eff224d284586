// Launch planning of group_norm_stats on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a group_norm_stats row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_group_norm_stats_cuda(const GroupNormStatsArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
