// Launch planning of layout_in on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a layout_in row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_layout_in_cuda(const LayoutInArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
