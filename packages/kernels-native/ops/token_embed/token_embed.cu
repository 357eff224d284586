// token_embed: y[0] = token + position[0], y[s] = x[s - 1] + position[s] in every frame.
// Symbols: token_embed_vector, token_embed_scalar.
#include "../../device/elementwise.cuh"
#include "token_embed_params.h"

using namespace vd::device;

namespace {

template <int kWidth> __device__ __forceinline__ void token_embed(const TokenEmbedParams& p) {
  const int runs = p.channels / kWidth;
  for_each_item(p.rows * runs, [&](int64_t i) {
    const int64_t row = i / runs;
    const int c = static_cast<int>(i - row * runs) * kWidth;
    const int64_t frame = row / p.tokensPerFrame;
    const int64_t s = row - frame * p.tokensPerFrame;
    float v[kWidth], position[kWidth];
    if (s == 0) load_run(p.token, p.tokenType, c, v);
    else load_run(p.x, p.xType, (row - frame - 1) * p.xPitch + c, v);
    load_run(p.position, p.positionType, s * p.channels + c, position);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) v[j] += position[j];
    store_run(p.y, p.yType, row * p.yPitch + c, v);
  });
}

}  // namespace

VD_KERNEL(token_embed_vector, TokenEmbedParams, 256, 4, token_embed<8>)
VD_KERNEL(token_embed_scalar, TokenEmbedParams, 256, 4, token_embed<1>)
