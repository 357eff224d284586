// Storing warp matrices to shared memory, sm_90. PTX ISA: "Warp Level Matrix Instructions: stmatrix".
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

__device__ __forceinline__ void stmatrix_x4(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

/** The same for matrices that are stored with their columns as rows. */
__device__ __forceinline__ void stmatrix_x4_transposed(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

}  // namespace vd::device::ptx
