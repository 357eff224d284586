// Launch planning of attention on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a attention row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_attention_cuda(const AttentionArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
