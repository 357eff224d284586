// Launch planning of conv on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a conv row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_conv_cuda(const ConvArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
