// Attention over float8 codes whose results are numbers.
#include "../../../native/cpu/code_attention.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {

/** Declines results that are not float32. */
std::unique_ptr<PreparedRow> prepare_attention_f8(const AttentionF8Args& args, PackCache& cache, const Target& target) {
  if (args.y.dtype != DType::f32) return nullptr;
  return prepare_code_attention(args, {}, "attention_f8_fast", cache, target);
}

}  // namespace vd::cpu
