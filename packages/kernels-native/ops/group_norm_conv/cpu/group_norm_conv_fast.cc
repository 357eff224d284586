// group_norm_conv on the CPU: the fast paths of the two ops that it stands for.
#include "../../../native/cpu/normed_conv.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_group_norm_conv(const GroupNormConvArgs& args, PackCache& cache, const Target& target) {
  return prepare_normed_conv(args, cache, target);
}

}  // namespace vd::cpu
