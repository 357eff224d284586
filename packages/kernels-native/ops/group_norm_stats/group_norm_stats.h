// Launch planning of group_norm_stats on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of group_norm_stats on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates group_norm_stats_cuda_variants(const GroupNormStatsArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
