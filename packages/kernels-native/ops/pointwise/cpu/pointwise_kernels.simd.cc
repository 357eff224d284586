// Element-wise combination of up to three rows.
#include "pointwise_kernels.h"

#include "../../../native/cpu/simd/load.h"
#include "../../../native/cpu/simd/math.h"

namespace vd::cpu::VD_ISA {

template <Activation ACT>
static void combine_of(float* y, const float* a, const float* b, const float* c, const float* frameBias, int64_t count, float aScale,
                       float bScale) {
  for (int64_t i = 0; i < count; i += Vec::kWidth) {
    const int64_t n = count - i;
    __builtin_prefetch(a + i + kAhead);
    Vec value = load_n(a + i, n) * Vec::all(aScale);
    if (b) {
      __builtin_prefetch(b + i + kAhead);
      Vec factor = load_n(b + i, n) * Vec::all(bScale);
      if (c) factor = factor * load_n(c + i, n);
      value = value + factor;
    }
    if (frameBias) value = value + load_n(frameBias + i, n);
    store_n(activate<ACT>(value), y + i, n);
  }
}

static void combine(float* y, const float* a, const float* b, const float* c, const float* frameBias, int64_t n, float aScale, float bScale,
                    Activation act) {
  switch (act) {
    case Activation::silu: return combine_of<Activation::silu>(y, a, b, c, frameBias, n, aScale, bScale);
    case Activation::gelu: return combine_of<Activation::gelu>(y, a, b, c, frameBias, n, aScale, bScale);
    case Activation::gelu_tanh: return combine_of<Activation::gelu_tanh>(y, a, b, c, frameBias, n, aScale, bScale);
    case Activation::quick_gelu: return combine_of<Activation::quick_gelu>(y, a, b, c, frameBias, n, aScale, bScale);
    case Activation::relu: return combine_of<Activation::relu>(y, a, b, c, frameBias, n, aScale, bScale);
    default: return combine_of<Activation::none>(y, a, b, c, frameBias, n, aScale, bScale);
  }
}

const PointwiseKernels pointwise_kernels = {.combine = combine};

}  // namespace vd::cpu::VD_ISA
