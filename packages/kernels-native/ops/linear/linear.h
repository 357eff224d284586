// Launch planning of linear on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a linear row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_linear_cuda(const LinearArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
