// Launch planning of sampler_step on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of sampler_step on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates sampler_step_cuda_variants(const SamplerStepArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
