// Loads that stay where they are written. PTX ISA: "Data Movement and Conversion Instructions: ld".
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

/** A number from global memory, asked for at this point of the program: the compiler would move the load down to where the number is
 *  needed, and the thread would wait for it there. */
__device__ __forceinline__ float load_here(const float* at) {
  float v;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(at));
  return v;
}

/** The same for 16 bytes. */
__device__ __forceinline__ uint4 load16_here(const void* at) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at));
  return v;
}

}  // namespace vd::device::ptx
