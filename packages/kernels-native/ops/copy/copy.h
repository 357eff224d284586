// Launch planning of copy on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a copy row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_copy_cuda(const CopyArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
