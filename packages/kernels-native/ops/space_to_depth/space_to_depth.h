// Launch planning of space_to_depth on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a space_to_depth row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_space_to_depth_cuda(const SpaceToDepthArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
