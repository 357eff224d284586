// conv_winograd on the CPU: the fast paths of the two ops that it stands for, whose convolution is Winograd's F(2x2, 3x3) in float32
// where that is faster.
#include "../../../native/cpu/normed_conv.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_conv_winograd(const ConvWinogradArgs& args, PackCache& cache, const Target& target) {
  if (!args.stats.present()) return prepare_conv(as_conv(args, args.x), cache, target);
  return prepare_normed_conv(args, cache, target);
}

}  // namespace vd::cpu
