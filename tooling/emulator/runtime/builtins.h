// What CUDA's compiler knows by itself, for kernels that a C++ compiler makes run on the host. Included in front of every source.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector_functions.h>
#include <vector_types.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "threads.h"

#define __launch_bounds__(...)
#define __grid_constant__
#undef __device__
#define __device__
#undef __global__
#define __global__
#undef __forceinline__
#define __forceinline__ inline
#undef __align__
#define __align__(bytes) alignas(bytes)

using vd::emulator::Dim3;
extern Dim3 threadIdx, blockIdx, blockDim, gridDim;

// ---- Numbers.

template <class A, class B>
  requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
inline std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<C>) return std::fmin(static_cast<C>(a), static_cast<C>(b));
  else return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B>
  requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
inline std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<C>) return std::fmax(static_cast<C>(a), static_cast<C>(b));
  else return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}
inline float rsqrtf(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  const auto one = [](__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
    return __double2bfloat16(static_cast<double>(__bfloat162float(x)) * __bfloat162float(y) + __bfloat162float(z));
  };
  return __halves2bfloat162(one(a.x, b.x, c.x), one(a.y, b.y, c.y));
}
/** Halves of a pair on their own, rounded once each: float64 holds a product of two of them, and nearly always the sum. */
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  const auto one = [](__half x, __half y, __half z) {
    return __double2half(static_cast<double>(__half2float(x)) * __half2float(y) + __half2float(z));
  };
  return __halves2half2(one(__low2half(a), __low2half(b), __low2half(c)), one(__high2half(a), __high2half(b), __high2half(c)));
}
inline __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) {
  const __half2 v = __hfma2(a, b, c);
  const auto within = [](float x) { return __float2half_rn(x > 0.0f ? std::fmin(x, 1.0f) : 0.0f); };
  return __halves2half2(within(__low2float(v)), within(__high2float(v)));
}
inline float __saturatef(float x) { return x > 0.0f ? std::fmin(x, 1.0f) : 0.0f; }
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(std::nearbyint(x)); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
/** The upper half of a product. CUDA math API: "__umulhi". */
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __popc(unsigned x) { return std::popcount(x); }
/** Bytes chosen from eight. CUDA math API: "__byte_perm". */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t both = static_cast<uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned which = selector >> 4 * i & 0xF;
    unsigned byte = static_cast<unsigned>(both >> 8 * (which & 7)) & 0xFF;
    if (which & 8) byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << 8 * i;
  }
  return result;
}

// ---- Memory.

template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
template <class T> inline void __stcg(T* p, T v) { *p = v; }
inline unsigned atomicAdd(unsigned* p, unsigned v) {
  const unsigned before = *p;
  *p += v;
  return before;
}
inline unsigned atomicMin(unsigned* p, unsigned v) {
  const unsigned before = *p;
  *p = std::min(before, v);
  return before;
}
inline void __threadfence() {}

// ---- Threads.

inline void __syncthreads() { vd::emulator::block_barrier(); }

namespace vd::emulator {

/** A value that a thread brings to its warp, and what it gets for it. */
struct Lane {
  uint64_t value = 0, result = 0;
  uint32_t source = 0;
};

template <class T> inline uint64_t word_of(T v) {
  static_assert(sizeof(T) <= 8);
  uint64_t word = 0;
  memcpy(&word, &v, sizeof v);
  return word;
}

/** The value of the lane at `source`; a lane that is not there gives the thread's own. */
template <class T> inline T shuffle(uint32_t mask, T v, uint32_t source) {
  Lane lane{word_of(v), 0, source};
  meet_warp(mask, &lane, [](void* const* brought, uint32_t members) {
    for (int i = 0; i < 32; ++i) {
      if (!(members >> i & 1)) continue;
      auto* mine = static_cast<Lane*>(brought[i]);
      const bool there = mine->source < 32 && members >> mine->source & 1;
      mine->result = there ? static_cast<Lane*>(brought[mine->source])->value : mine->value;
    }
  });
  T result;
  memcpy(&result, &lane.result, sizeof result);
  return result;
}
inline uint32_t ballot(uint32_t mask, bool v) {
  Lane lane{v};
  meet_warp(mask, &lane, [](void* const* brought, uint32_t members) {
    uint32_t votes = 0;
    for (int i = 0; i < 32; ++i)
      if (members >> i & 1 && static_cast<Lane*>(brought[i])->value) votes |= 1u << i;
    for (int i = 0; i < 32; ++i)
      if (members >> i & 1) static_cast<Lane*>(brought[i])->result = votes;
  });
  return static_cast<uint32_t>(lane.result);
}

}  // namespace vd::emulator

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  int nothing = 0;
  vd::emulator::meet_warp(mask, &nothing, [](void* const*, uint32_t) {});
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T v, int lanes, int = 32) {
  return vd::emulator::shuffle(mask, v, (threadIdx.x % 32) ^ static_cast<unsigned>(lanes));
}
template <class T> inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {
  const unsigned own = threadIdx.x % 32, first = own / width * width;
  return vd::emulator::shuffle(mask, v, first + static_cast<unsigned>(lane) % width);
}
template <class T> inline T __shfl_up_sync(unsigned mask, T v, unsigned lanes, int width = 32) {
  const unsigned own = threadIdx.x % 32;
  return vd::emulator::shuffle(mask, v, own % width >= lanes ? own - lanes : own);
}
template <class T> inline T __shfl_down_sync(unsigned mask, T v, unsigned lanes, int width = 32) {
  const unsigned own = threadIdx.x % 32;
  return vd::emulator::shuffle(mask, v, own % width + lanes < static_cast<unsigned>(width) ? own + lanes : own);
}
inline unsigned __ballot_sync(unsigned mask, int v) { return vd::emulator::ballot(mask, v != 0); }
inline int __any_sync(unsigned mask, int v) { return vd::emulator::ballot(mask, v != 0) != 0; }
inline int __all_sync(unsigned mask, int v) { return vd::emulator::ballot(mask, v == 0) == 0; }
inline uint32_t __cvta_generic_to_shared(const void* p) { return vd::emulator::shared_address_of(p); }

namespace cooperative_groups {
/** All blocks of a launch that waits for them all: they are there as one cluster. */
struct Grid {
  static void sync() {
    vd::emulator::cluster_arrive();
    vd::emulator::cluster_wait();
  }
};
inline Grid this_grid() { return {}; }
}  // namespace cooperative_groups
