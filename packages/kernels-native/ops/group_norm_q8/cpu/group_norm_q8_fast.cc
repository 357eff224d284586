// GroupNorm that leaves codes: pixels are rounded while they lie in the first-level cache.
#include "../../../native/cpu/channel_norm.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_group_norm_q8(const GroupNormQ8Args& a, PackCache&, const Target& target) {
  const GroupNormArgs norm{a.x, a.x2, a.weight, a.bias, a.stats, a.y, a.groups, a.eps, a.act, a.joinFrames};
  return prepare_channel_norm({norm, a.yScale}, "group_norm_q8_fast", target.isa);
}

}  // namespace vd::cpu
