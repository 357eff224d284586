// Expressions that have kernels of their own: those of models' blocks. Any other is interpreted.
#pragma once
#include "elementwise_params.h"

/** X(name, instructions...) for every form. Operands are called a, b, c in the order of their first appearance, and constants
 *  likewise: planners rename those of a call so. */
#define VD_ELEMENTWISE_FORMS(X)                          \
  X(silu, kA, kSiluOf)                                   \
  X(gelu, kA, kGeluOf)                                   \
  X(gelu_tanh, kA, kGeluTanhOf)                          \
  X(sigmoid, kA, kSigmoid)                               \
  X(tanh, kA, kTanh)                                     \
  X(add, kA, kB, kAdd)                                   \
  X(sub, kA, kB, kSub)                                   \
  X(mul, kA, kB, kMul)                                   \
  X(scale, kA, kK0, kMul)                                \
  X(scale_offset, kA, kK0, kMul, kK1, kAdd)              \
  X(scaled_sum, kA, kK0, kMul, kB, kK1, kMul, kAdd)      \
  X(clamp, kA, kK0, kMax, kK1, kMin)                     \
  X(add_product, kA, kB, kC, kMul, kAdd)                 \
  X(product_add, kA, kB, kMul, kC, kAdd)                 \
  X(silu_add_product, kA, kB, kC, kMul, kAdd, kSiluOf)   \
  X(silu_gate, kA, kSiluOf, kB, kMul)                    \
  X(gate_silu, kA, kB, kSiluOf, kMul)                    \
  X(gelu_gate, kA, kGeluOf, kB, kMul)                    \
  X(gate_gelu, kA, kB, kGeluOf, kMul)                    \
  X(modulate, kA, kK0, kB, kAdd, kMul, kC, kAdd)         \
  X(modulate_swapped, kA, kB, kK0, kAdd, kMul, kC, kAdd) \
  X(interpolate, kA, kB, kA, kSub, kC, kMul, kAdd)

namespace vd::device {

/** The program of a form; `end` stands behind it. */
struct ElementwiseForm {
  const char* name;
  uint8_t code[kElementwiseLength];
};

#define VD_FORM(name, ...) {#name, {__VA_ARGS__}},
inline constexpr ElementwiseForm kElementwiseForms[] = {VD_ELEMENTWISE_FORMS(VD_FORM)};
#undef VD_FORM

}  // namespace vd::device
