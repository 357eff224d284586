// Launch planning of timestep_embedding on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of timestep_embedding on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates timestep_embedding_cuda_variants(const TimestepEmbeddingArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
