// Elements of the 8-bit types: float8 e4m3 and symmetric integers.
#pragma once
#include <cuda_fp8.h>
#include <type_traits>

#include "reduce.cuh"
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

/** Two codes, the first in the lowest byte. */
template <class Q> __device__ __forceinline__ uint32_t pack_codes2(float first, float second) {
  if constexpr (std::is_same_v<Q, __nv_fp8_e4m3>) return __nv_cvt_float2_to_fp8x2(make_float2(first, second), __NV_SATFINITE, __NV_E4M3);
  else
    return static_cast<uint8_t>(from_float<int8_t>(first)) | static_cast<uint32_t>(static_cast<uint8_t>(from_float<int8_t>(second))) << 8;
}

/** Two float8 of two float16. */
__device__ __forceinline__ uint32_t pack_codes2(__half2 v) {
  return __nv_cvt_halfraw2_to_fp8x2(static_cast<__half2_raw>(v), __NV_SATFINITE, __NV_E4M3);
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

/** The scale of codes for numbers of at most `magnitude` in size. */
__device__ __forceinline__ float code_scale(float magnitude, bool isInt8) {
  return fmaxf(__fdiv_rn(magnitude, isInt8 ? 127.0f : 448.0f), 0x1p-126f);
}

/** The largest of `found` and the magnitudes of v; NaN does not count. */
template <int kWidth> __device__ __forceinline__ float largest_of(const float (&v)[kWidth], float found) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) found = fmaxf(found, fabsf(v[i]));  // takes the other one for NaN
  return found;
}

template <class Q, int kWidth> __device__ __forceinline__ void store_codes_of(uint8_t* y, const float (&v)[kWidth]) {
  if constexpr (kWidth == 8) {
    *reinterpret_cast<uint2*>(y) = make_uint2(pack_codes4<Q>(v), pack_codes4<Q>(v + 4));
  } else {
    *reinterpret_cast<Q*>(y) = from_float<Q>(v[0]);
  }
}

/** Eight codes at an 8-byte aligned address. */
__device__ __forceinline__ void store8(__nv_fp8_e4m3* y, const float (&v)[8]) {
  store_codes_of<__nv_fp8_e4m3, 8>(reinterpret_cast<uint8_t*>(y), v);
}

/** Rounds v · inverse to codes at y: eight to an 8-byte aligned address, or one. */
template <int kWidth> __device__ __forceinline__ void store_codes(uint8_t* y, float (&v)[kWidth], float inverse, bool isInt8) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) v[i] = __fmul_rn(v[i], inverse);
  if (isInt8) store_codes_of<int8_t, kWidth>(y, v);
  else store_codes_of<__nv_fp8_e4m3, kWidth>(y, v);
}

}  // namespace vd::device
