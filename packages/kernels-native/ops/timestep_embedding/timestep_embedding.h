// Launch planning of timestep_embedding on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a timestep_embedding row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_timestep_embedding_cuda(const TimestepEmbeddingArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
