// LayerNorm over the last dimension.
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/token_norm.h"

namespace vd::cpu {

/** y may be x. */
std::unique_ptr<PreparedRow> prepare_layer_norm(const LayerNormArgs& a, PackCache&, const Target& target) {
  return prepare_token_norm({TokenNormKind::layer_norm, a.x, a.weight, a.bias, a.scale, a.shift, a.y, a.eps}, "layer_norm_fast",
                            target.isa);
}

}  // namespace vd::cpu
