// GroupNorm.
#include "../../../native/cpu/channel_norm.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {

/** y may be x. */
std::unique_ptr<PreparedRow> prepare_group_norm(const GroupNormArgs& args, PackCache&, const Target& target) {
  return prepare_channel_norm({args, {}}, "group_norm_fast", target.isa);
}

}  // namespace vd::cpu
