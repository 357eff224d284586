// RMSNorm over the last dimension.
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/token_norm.h"

namespace vd::cpu {

/** y may be x. */
std::unique_ptr<PreparedRow> prepare_rms_norm(const RmsNormArgs& a, PackCache&, const Target& target) {
  return prepare_token_norm({TokenNormKind::rms_norm, a.x, a.weight, {}, a.scale, a.shift, a.y, a.eps}, "rms_norm_fast", target.isa);
}

}  // namespace vd::cpu
