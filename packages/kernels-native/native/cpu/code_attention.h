// The fast path of attention over float8 codes, which attention_f8 and attention_f8_codes share.
#pragma once
#include <memory>

#include "../generated/op_args.h"
#include "fast_paths.h"

namespace vd::cpu {

/** Operands and attributes of such an attention. */
struct CodeAttentionRow {
  Tensor q, k, v, qScale, kScale, vScale, y;
  Tensor yScale;  // absent where y is float32
  AttentionAxis axis;
  int64_t heads;
  float scale;
};

/** The row ready to run; null where attention of floats has no fast path. name: its own. */
std::unique_ptr<PreparedRow> make_code_attention(const CodeAttentionRow& row, const char* name, PackCache& cache, const Target& target);

/** The same from an op's arguments. */
template <class Args>
std::unique_ptr<PreparedRow> prepare_code_attention(const Args& a, const Tensor& yScale, const char* name, PackCache& cache,
                                                    const Target& target) {
  return make_code_attention({a.q, a.k, a.v, a.qScale, a.kScale, a.vScale, a.y, yScale, a.axis, a.heads, a.scale}, name, cache, target);
}

}  // namespace vd::cpu
