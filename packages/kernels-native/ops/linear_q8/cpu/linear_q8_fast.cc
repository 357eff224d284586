// Linear layers in 8 bits.
#include "../../../native/cpu/code_linear.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_linear_q8(const LinearQ8Args& args, PackCache& cache, const Target& target) {
  return prepare_code_linear(args, {}, "linear_q8", cache, target.isa);
}

}  // namespace vd::cpu
