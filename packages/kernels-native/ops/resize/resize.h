// Launch planning of resize on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a resize row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_resize_cuda(const ResizeArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
