// Launch planning of depth_to_space on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a depth_to_space row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_depth_to_space_cuda(const DepthToSpaceArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
