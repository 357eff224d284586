#include "../../native/generated/op_planners.h"

#include "../../device/elementwise.h"
#include "token_embed_params.h"

namespace vd {

std::vector<cuda::Plan> plan_token_embed_cuda(const TokenEmbedArgs& a, const cuda::DeviceInfo&) {
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
  const bool wide = device::has_wide_channels(a.x) && device::has_wide_channels(a.y) && device::has_wide_channels(a.position) &&
                    cuda::aligned16(p.token);
  return device::elementwise_plan(wide ? "token_embed_vector" : "token_embed_scalar", p.rows * p.channels / (wide ? 8 : 1), p);
}

}  // namespace vd
