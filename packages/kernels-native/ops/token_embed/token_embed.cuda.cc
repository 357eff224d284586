#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "token_embed_params.h"

namespace vd {

cuda::Candidates token_embed_cuda_variants(const TokenEmbedArgs& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::TokenEmbedParams p{};
  p.x = a.x.data;
  p.token = a.token.data;
  p.position = a.position.data;
  p.y = a.y.data;
  p.rows = a.y.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.tokensPerFrame = static_cast<int32_t>(a.y.dim(2));
  p.channels = static_cast<int32_t>(a.y.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.tokenType = static_cast<int32_t>(a.token.dtype);
  p.positionType = static_cast<int32_t>(a.position.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  const cuda::Reason againstVector = cuda::first_of({cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.y, "y", 8, true),
                                                     cuda::access_reason(a.position, "position", 8, true),
                                                     cuda::if_so(!cuda::aligned16(p.token), {"is not 16-byte aligned", {}, "token"})});
  return cuda::run_candidates("token_embed_vector", "token_embed_scalar", againstVector, p.rows * p.channels, p, options);
}

}  // namespace vd
