// elementwise, compiled where it runs: any program, as straight code.
//
// Plan: the loop of a form (elementwise.cu) around a place for the program. This file is built as PTX text, for which VD_EXPRESSION is a
// word like any other. When a plan is loaded, the host writes the program in its place, with the functions below as their text
// (native/cuda/planning/kernel_templates.cc), and the driver compiles it. So every function has one definition, in elementwise_runs.cuh.
// Symbols: elementwise_<dtype>_compiled<operands>, and functions elementwise_<exact or fast>_<name>.
#include "elementwise_functions.h"
#include "elementwise_runs.cuh"

using namespace vd::device;

namespace {

template <class T, int kOperands> __device__ __forceinline__ void elementwise_compiled(const ElementwiseParams& p) {
  for_each_run<T, kOperands>(p, [&](const float (&x)[kElementwiseOperands][8], float (&y)[8]) {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      asm("VD_EXPRESSION %0, %1, %2, %3, %4, %5, %6, %7, %8;"
          : "=f"(y[j])
          : "f"(x[0][j]), "f"(x[1][j]), "f"(x[2][j]), "f"(x[3][j]), "f"(p.constants[0]), "f"(p.constants[1]), "f"(p.constants[2]),
            "f"(p.constants[3]));
  });
}

}  // namespace

#define VD_COMPILED(type, typeName, operands) \
  VD_KERNEL(elementwise_##typeName##_compiled##operands, ElementwiseParams, kElementwiseThreads, 4, elementwise_compiled<type, operands>)
#define VD_COMPILED_KERNELS(type, typeName) \
  VD_COMPILED(type, typeName, 0)            \
  VD_COMPILED(type, typeName, 1)            \
  VD_COMPILED(type, typeName, 2)            \
  VD_COMPILED(type, typeName, 3)            \
  VD_COMPILED(type, typeName, 4)
VD_COMPILED_KERNELS(float, f32)
VD_COMPILED_KERNELS(__half, f16)
VD_COMPILED_KERNELS(__nv_bfloat16, bf16)

#define VD_UNARY(name, code)                                                                      \
  extern "C" __device__ float elementwise_exact_##name(float x) { return unary<false>(code, x); } \
  extern "C" __device__ float elementwise_fast_##name(float x) { return unary<true>(code, x); }
VD_ELEMENTWISE_UNARY(VD_UNARY)

#define VD_BINARY(name, code)                                                                                  \
  extern "C" __device__ float elementwise_exact_##name(float x, float y) { return binary<false>(code, x, y); } \
  extern "C" __device__ float elementwise_fast_##name(float x, float y) { return binary<true>(code, x, y); }
VD_ELEMENTWISE_BINARY(VD_BINARY)
