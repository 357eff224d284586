// Approximate functions of the special-function unit. PTX ISA: "Floating Point Instructions: ex2, rcp, sqrt"; "prefetch".
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

/** 2^x within 2 units in the last place, subnormal results flushed. */
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/** 1/x within 1 unit in the last place. */
__device__ __forceinline__ float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/** Asks for a line to be brought into L2. */
__device__ __forceinline__ void prefetch_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

/** The square root within 1 unit in the last place. */
__device__ __forceinline__ float sqrt_approx(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/** tanh(x), off by at most 2^-11 of itself. */
__device__ __forceinline__ float tanh_approx(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/** The same of two float16, off by at most 2^-10.987. */
__device__ __forceinline__ uint32_t tanh_approx_f16x2(uint32_t x) {
  uint32_t result;
  asm("tanh.approx.f16x2 %0, %1;" : "=r"(result) : "r"(x));
  return result;
}
/** Two floats as float16, the first in the low half; what is too large becomes the largest one. From sm_80 on. */
__device__ __forceinline__ uint32_t saturate_f16x2(float first, float second) {
  uint32_t result;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(second), "f"(first));
  return result;
}

}  // namespace vd::device::ptx
