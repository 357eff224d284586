// Attention over float32 copies of operands that come as codes, or are rounded to them: a row inside another row.
#pragma once
#include "../generated/op_args.h"
#include "fast_paths.h"

namespace vd::cpu {

/** Floats of a copy, so that the next one begins at a multiple of 64 bytes. */
constexpr int64_t padded_floats(int64_t floats) { return (floats + 15) / 16 * 16; }

/** A tensor of the same sizes in packed float32 at `data`. */
inline Tensor as_floats(const Tensor& t, float* data) {
  Tensor copy = t;
  copy.dtype = DType::f32;
  copy.data = data;
  copy.pitch = t.channels();
  return copy;
}

/** The fast path of attention of copies: of q by k, y = softmax(scale · q · kᵀ) · v. Products are exact, whatever those of floats are:
 * codes are rounded enough. Null where there is none. */
inline std::unique_ptr<PreparedRow> prepare_inner_attention(const AttentionArgs& args, PackCache& cache, const Target& target) {
  return prepare_attention(args, cache, {target.isa, Math::exact});
}

}  // namespace vd::cpu
