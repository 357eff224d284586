// Linear layers in 8 bits whose tiles leave codes.
#include "../../../native/cpu/code_linear.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_linear_q8_codes(const LinearQ8CodesArgs& args, PackCache& cache, const Target& target) {
  return prepare_code_linear(args, args.yScale, "linear_q8_codes", cache, target.isa);
}

}  // namespace vd::cpu
