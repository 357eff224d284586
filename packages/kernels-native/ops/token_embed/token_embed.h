// Launch planning of token_embed on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/cuda/planning/candidates.h"

namespace vd {

/** The variants of a row of token_embed on a device, the best guess first; none when no kernel can do it. explain: with the reasons
 *  against others. */
cuda::Candidates token_embed_cuda_variants(const TokenEmbedArgs& args, const cuda::DeviceInfo& device, bool explain);

}  // namespace vd
