// Elements of the 8-bit types: float8 e4m3 and symmetric integers.
#pragma once
#include <cuda_fp8.h>

#include "vec.cuh"

namespace vd::device {

__device__ __forceinline__ float to_float(int8_t v) { return static_cast<float>(v); }
__device__ __forceinline__ float to_float(__nv_fp8_e4m3 v) { return static_cast<float>(v); }

/** The nearest integer, ties to even, from -127 to 127; 0 for NaN. */
template <> __device__ __forceinline__ int8_t from_float<int8_t>(float v) {
  return static_cast<int8_t>(v != v ? 0 : __float2int_rn(fminf(fmaxf(v, -127.0f), 127.0f)));
}
/** The nearest number, ties to even, at most 448 in size. */
template <> __device__ __forceinline__ __nv_fp8_e4m3 from_float<__nv_fp8_e4m3>(float v) {
  __nv_fp8_e4m3 code;
  code.__x = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3);
  return code;
}

/** Four codes, the first in the lowest byte. */
template <class Q> __device__ __forceinline__ uint32_t pack_codes4(const float* v);
template <> __device__ __forceinline__ uint32_t pack_codes4<int8_t>(const float* v) {
  uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) word |= static_cast<uint32_t>(static_cast<uint8_t>(from_float<int8_t>(v[i]))) << (8 * i);
  return word;
}
template <> __device__ __forceinline__ uint32_t pack_codes4<__nv_fp8_e4m3>(const float* v) {
  const uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(v[0], v[1]), __NV_SATFINITE, __NV_E4M3);
  const uint32_t high = __nv_cvt_float2_to_fp8x2(make_float2(v[2], v[3]), __NV_SATFINITE, __NV_E4M3);
  return low | high << 16;
}

}  // namespace vd::device
