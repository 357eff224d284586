// Launch planning of layer_norm on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of layer_norm on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates layer_norm_cuda_variants(const LayerNormArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
