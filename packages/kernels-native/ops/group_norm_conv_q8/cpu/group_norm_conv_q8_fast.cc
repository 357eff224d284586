// group_norm_conv_q8 on the CPU: the fast paths of the two ops that it stands for.
#include "../../../native/cpu/normed_conv.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_group_norm_conv_q8(const GroupNormConvQ8Args& args, PackCache& cache, const Target& target) {
  auto row = std::make_unique<NormThenProduct<uint8_t>>(static_cast<size_t>(args.x.pixels() * args.weight.dims[1]));
  const Tensor x = normed_map(args, row->normed(), args.weight.dtype);
  return joined(std::move(row), prepare_group_norm_q8(as_group_norm_q8(args, x), cache, target),
                prepare_conv_q8(as_conv_q8(args, x), cache, target));
}

}  // namespace vd::cpu
