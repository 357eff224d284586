// Float32 numbers as sums of two that tensor cores read whole: why, and what it leaves out, is in matmul_tf32.cuh.
#pragma once
#include <stdint.h>

namespace vd::device {

/** x = hi + lo as operands of a product; the tensor core ignores the lowest 13 bits of lo. */
__device__ __forceinline__ void split_tf32(uint32_t x, uint32_t& hi, uint32_t& lo) {
  hi = (x + 0x1000u) & 0xffffe000u;
  lo = __float_as_uint(__uint_as_float(x) - __uint_as_float(hi));
}
template <int kCount>
__device__ __forceinline__ void split_tf32(const uint32_t (&x)[kCount], uint32_t (&hi)[kCount], uint32_t (&lo)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) split_tf32(x[i], hi[i], lo[i]);
}

}  // namespace vd::device
