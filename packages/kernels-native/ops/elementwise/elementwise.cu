// elementwise: a small program for each element, where the program is one of those in elementwise_forms.h.
//
// Plan: a form is compiled into straight code for operands of one type: eight elements of each operand a thread, all loads before the
// first use. Any other program is compiled where the user's driver can (elementwise_compiled.template.cu), or interpreted
// (elementwise_program.cu). grid.y counts frames, so that one division of 32 bits tells
// tokens from channels.
// Symbols: elementwise_<dtype>_<form>.
#include "elementwise_forms.h"
#include "elementwise_runs.cuh"

using namespace vd::device;

namespace {

/** The highest operand of a form, counted from 1. */
constexpr int operands_of(const ElementwiseForm& form) {
  int most = 0;
  for (const uint8_t code : form.code)
    if (code >= kA && code <= kD && code - kA + 1 > most) most = code - kA + 1;
  return most;
}

/** How many operands a form has. */
template <int kForm> inline constexpr int kFormOperands = operands_of(kElementwiseForms[kForm]);

/** Runs the instructions of a form from kAt on; kDepth numbers are on the stack. Everything but the arithmetic is done by the
 *  compiler. */
template <int kForm, bool kFast, int kAt, int kDepth>
__device__ __forceinline__ void evaluate(const float (&x)[kElementwiseOperands][8], const float* constants, float (&stack)[4][8]) {
  constexpr int kCode = kAt < kElementwiseLength ? kElementwiseForms[kForm].code[kAt] : kEnd;
  if constexpr (kCode == kEnd) {
    static_assert(kDepth == 1, "a form leaves one number");
  } else if constexpr (kCode <= kK3) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if constexpr (kCode <= kD) stack[kDepth][j] = x[kCode - kA][j];
      else stack[kDepth][j] = constants[kCode - kK0];
    }
    evaluate<kForm, kFast, kAt + 1, kDepth + 1>(x, constants, stack);
  } else if constexpr (kCode < kAdd) {
#pragma unroll
    for (int j = 0; j < 8; ++j) stack[kDepth - 1][j] = unary<kFast>(kCode, stack[kDepth - 1][j]);
    evaluate<kForm, kFast, kAt + 1, kDepth>(x, constants, stack);
  } else {
#pragma unroll
    for (int j = 0; j < 8; ++j) stack[kDepth - 2][j] = binary<kFast>(kCode, stack[kDepth - 2][j], stack[kDepth - 1][j]);
    evaluate<kForm, kFast, kAt + 1, kDepth - 1>(x, constants, stack);
  }
}

template <class T, int kForm> __device__ __forceinline__ void elementwise_form(const ElementwiseParams& p) {
  for_each_run<T, kFormOperands<kForm>>(p, [&](const float (&x)[kElementwiseOperands][8], float (&y)[8]) {
    float stack[4][8];
    evaluate<kForm, sizeof(T) == 2, 0, 0>(x, p.constants, stack);
#pragma unroll
    for (int j = 0; j < 8; ++j) y[j] = stack[0][j];
  });
}

/** Positions of the forms in their table. */
enum FormIndex : int {
#define VD_INDEX(name, ...) kForm_##name,
  VD_ELEMENTWISE_FORMS(VD_INDEX)
#undef VD_INDEX
};

}  // namespace

#define VD_FORM_KERNEL(name, type, typeName) \
  VD_KERNEL(elementwise_##typeName##_##name, ElementwiseParams, kElementwiseThreads, 4, elementwise_form<type, kForm_##name>)
#define VD_FORM_KERNELS(name, ...)  \
  VD_FORM_KERNEL(name, float, f32)  \
  VD_FORM_KERNEL(name, __half, f16) \
  VD_FORM_KERNEL(name, __nv_bfloat16, bf16)
VD_ELEMENTWISE_FORMS(VD_FORM_KERNELS)
