// Launch planning of pointwise on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a pointwise row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_pointwise_cuda(const PointwiseArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
