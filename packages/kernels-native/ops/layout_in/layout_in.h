// Launch planning of layout_in on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of layout_in on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates layout_in_cuda_variants(const LayoutInArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
