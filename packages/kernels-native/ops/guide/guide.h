// Launch planning of guide on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a guide row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_guide_cuda(const GuideArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
