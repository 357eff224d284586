// Convolution in 8 bits whose tiles leave codes.
#include "../../../native/cpu/code_conv.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_conv_q8_codes(const ConvQ8CodesArgs& args, PackCache& cache, const Target& target) {
  return prepare_code_conv(args, args.yScale, "conv_q8_codes", cache, target.isa);
}

}  // namespace vd::cpu
