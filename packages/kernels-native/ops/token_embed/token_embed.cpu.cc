// The definition of token_embed.
#include "../../native/cpu/reference.h"

namespace vd::cpu {

void token_embed_reference(const TokenEmbedArgs& a, ThreadPool& pool) {
  const int64_t S = a.x.dims[2], C = a.x.channels();
  pool.parallel_for(a.y.pixels(), [&](int64_t i, int) {
    const int64_t frame = i / (S + 1), s = i % (S + 1);
    for (int64_t c = 0; c < C; ++c) {
      const float value = s == 0 ? load_element(a.token.data, a.token.dtype, c) : at(a.x, frame * S + s - 1, c);
      put(a.y, i, c, value + load_element(a.position.data, a.position.dtype, s * C + c));
    }
  });
}

}  // namespace vd::cpu
