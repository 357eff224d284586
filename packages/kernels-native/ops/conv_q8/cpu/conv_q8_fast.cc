// Convolution in 8 bits, and the moments of its result.
#include "../../../native/cpu/code_conv.h"
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/result_moments.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_conv_q8(const ConvQ8Args& args, PackCache& cache, const Target& target) {
  const Isa isa = resolve_isa(target.isa);
  return with_moments(prepare_code_conv(args, {}, "conv_q8", cache, isa), args.y, args.moments, isa);
}

}  // namespace vd::cpu
