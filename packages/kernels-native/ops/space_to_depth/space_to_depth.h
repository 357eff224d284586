// Launch planning of space_to_depth on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of space_to_depth on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates space_to_depth_cuda_variants(const SpaceToDepthArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
