// Launch planning of sampler_step on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a sampler_step row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_sampler_step_cuda(const SamplerStepArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
