// Attention over float8 codes that leaves codes.
#include "../../../native/cpu/code_attention.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {

std::unique_ptr<PreparedRow> prepare_attention_f8_codes(const AttentionF8CodesArgs& args, PackCache& cache, const Target& target) {
  return prepare_code_attention(args, args.yScale, "attention_f8_codes_fast", cache, target);
}

}  // namespace vd::cpu
