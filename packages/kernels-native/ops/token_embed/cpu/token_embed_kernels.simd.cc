// Tokens and their positions.
#include "token_embed_kernels.h"

#include "../../../native/cpu/simd/load.h"
#include "../../../native/cpu/simd/load_typed.h"

namespace vd::cpu::VD_ISA {

template <DType TYPE> static void add_typed(float* y, const float* x, const std::byte* position, int64_t count) {
  for (int64_t i = 0; i < count; i += Vec::kWidth)
    store_n(load_n(x + i, count - i) + load_typed<TYPE>(position + i * bytes_of(TYPE), count - i), y + i, count - i);
}

static void add(float* y, const float* x, const void* position, DType type, int64_t count) {
  const auto* bytes = static_cast<const std::byte*>(position);
  if (type == DType::f16) return add_typed<DType::f16>(y, x, bytes, count);
  if (type == DType::bf16) return add_typed<DType::bf16>(y, x, bytes, count);
  add_typed<DType::f32>(y, x, bytes, count);
}

const TokenEmbedKernels token_embed_kernels = {.add = add};

}  // namespace vd::cpu::VD_ISA
