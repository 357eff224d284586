// Launch planning of group_norm on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of group_norm on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates group_norm_cuda_variants(const GroupNormArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
