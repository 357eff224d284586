// Reductions in a fixed order.
#pragma once

namespace vd::device {

/** Sum over the lanes of aligned groups of kLanes; every lane gets it. */
template <int kLanes> __device__ __forceinline__ float sum_lanes(float v) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step >>= 1) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

/** The largest over the lanes of aligned groups of kLanes, NaN left out; every lane gets it. */
template <int kLanes> __device__ __forceinline__ float max_lanes(float v) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}

/** The largest over a block of kThreads threads, NaN left out; every thread gets it. */
template <int kThreads> __device__ __forceinline__ float max_block(float v) {
  __shared__ float parts[kThreads / 32];
  v = max_lanes<32>(v);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  float found = parts[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) found = fmaxf(found, parts[i]);
  return found;
}

/** Sum over a block of kThreads threads; every thread gets it. */
template <int kThreads> __device__ __forceinline__ float sum_block(float v) {
  __shared__ float parts[kThreads / 32];
  v = sum_lanes<32>(v);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) sum += parts[i];
  return sum;
}

/** Mean, sum of squared deviations and count of a set of values. */
struct Moments {
  float mean, deviations, count;
};

/** Moments of the union of two disjoint sets (Chan, Golub, LeVeque 1983). */
__device__ __forceinline__ Moments merge(const Moments& a, const Moments& b) {
  if (b.count == 0.0f) return a;
  if (a.count == 0.0f) return b;
  const float count = a.count + b.count, delta = b.mean - a.mean, part = b.count / count;
  return {a.mean + delta * part, a.deviations + b.deviations + delta * delta * a.count * part, count};
}

}  // namespace vd::device
