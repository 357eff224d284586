// LayerNorm over the last dimension; each token is rounded while it lies in the first-level cache.
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/token_norm.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_layer_norm_q8(const LayerNormQ8Args& a, PackCache&, const Target& target) {
  return prepare_token_norm({TokenNormKind::layer_norm, a.x, a.weight, a.bias, a.scale, a.shift, a.y, a.eps, a.scales, a.yScale},
                            "layer_norm_q8_fast", target.isa);
}

}  // namespace vd::cpu
