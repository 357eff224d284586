// Launch planning of conv on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of conv on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates conv_cuda_variants(const ConvArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
