// Work items of kernels that compute each element, or each run of kWidth channels, on its own.
#pragma once
#include "kernel.cuh"
#include "vec.cuh"

namespace vd::device {

/** Calls `body` with every index below `count` that is this thread's. */
template <class Body> __device__ __forceinline__ void for_each_item(int64_t count, Body&& body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

/** kWidth consecutive elements, 1 or 8, of an array of any float type. */
template <int kWidth> __device__ __forceinline__ void load_run(const void* p, int type, int64_t at, float (&v)[kWidth]) {
  if constexpr (kWidth == 8) load8_any(p, type, at, v);
  else v[0] = load_any(p, type, at);
}
template <int kWidth> __device__ __forceinline__ void store_run(void* p, int type, int64_t at, const float (&v)[kWidth]) {
  if constexpr (kWidth == 8) store8_any(p, type, at, v);
  else store_any(p, type, at, v[0]);
}

}  // namespace vd::device
