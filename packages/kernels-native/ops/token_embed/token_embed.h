// Launch planning of token_embed on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a token_embed row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_token_embed_cuda(const TokenEmbedArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
