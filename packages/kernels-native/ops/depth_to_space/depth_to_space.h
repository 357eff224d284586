// Launch planning of depth_to_space on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of depth_to_space on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates depth_to_space_cuda_variants(const DepthToSpaceArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
