// The inner loop of token_embed, once per instruction set.
#pragma once
#include <cstdint>

#include "../../../native/cpu/kernel_table.h"
#include "../../../native/generated/dtype.h"

namespace vd::cpu {

/** The inner loop of an instruction set. */
struct TokenEmbedKernels {
  /** y = x + position for `count` numbers; those of the position are f32, f16 or bf16 at any address. */
  void (*add)(float* y, const float* x, const void* position, DType type, int64_t count);
};

VD_DECLARE_KERNEL_TABLE(TokenEmbedKernels, token_embed_kernels)

}  // namespace vd::cpu
