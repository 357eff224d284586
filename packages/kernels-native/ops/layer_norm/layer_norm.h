// Launch planning of layer_norm on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a layer_norm row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_layer_norm_cuda(const LayerNormArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
