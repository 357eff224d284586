// Launch planning of denoise_input on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a denoise_input row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_denoise_input_cuda(const DenoiseInputArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
