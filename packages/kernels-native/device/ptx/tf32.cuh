// Warp matrix products of tf32 operands, sm_80 and later.
// PTX ISA: "Matrix Fragments for mma.m16n8k8"; "Alternate Floating-Point Data Formats".
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

#if __CUDA_ARCH__ >= 800
/** a[16,8] · b[8,8] + c. The tensor core reads the upper 19 bits of each operand. No side effects: may be reordered. */
__device__ __forceinline__ void mma_1688_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}
#endif

}  // namespace vd::device::ptx
