// layer_norm_linear_q8_codes on the CPU: the fast paths of the two ops that it stands for.
#include "../../../native/core/normed_linear.h"
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/norm_then_product.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_layer_norm_linear_q8_codes(const LayerNormLinearQ8CodesArgs& args, PackCache& cache,
                                                                const Target& target) {
  auto row = std::make_unique<NormThenProduct<uint8_t>>(static_cast<size_t>(args.x.count()));
  const Tensor x = normed_tokens(args, row->normed(), args.weight.dtype);
  return joined(std::move(row), prepare_layer_norm_q8(as_layer_norm_q8(args, x), cache, target),
                prepare_linear_q8_codes(as_linear_q8(args, x), cache, target));
}

}  // namespace vd::cpu
