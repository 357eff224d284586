// quantize: numbers to float8 e4m3 or 8-bit integers. Every operation is rounded as the CPU does it: a code depends on nothing else.
//
//   quantize_known_*   scales are given, or one scale follows from the maxima of all parts (quantize_maxima_*)
//   quantize_held_*    the same in one launch, of a tensor that the shared memory of a cluster holds
//   quantize_rows_*    a warp finds the largest magnitude of a token, then rounds it from the first-level cache
//   quantize_blocks_*  16 lanes do the same for each block of 128 channels (32 lanes where elements are moved one by one)
// vector: eight elements a thread; scalar: one.
#include "../../device/elementwise.cuh"
#include "../../device/ptx/cluster.cuh"
#include "../../device/ptx/mbarrier.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/quantized.cuh"
#include "quantize_params.h"

using namespace vd::device;

namespace {

/** Rounds kWidth channels of a token from `c` on. */
template <int kWidth> __device__ __forceinline__ void round_run(const QuantizeParams& p, int64_t pixel, int c, float inverse) {
  float v[kWidth];
  load_run<kWidth>(p.x, p.xType, pixel * p.xPitch + c, v);
  store_codes<kWidth>(p.y + pixel * p.yPitch + c, v, inverse, p.isInt8);
}

template <int kWidth> __device__ __forceinline__ void quantize_maxima(const QuantizeParams& p) {
  const int runs = p.channels / kWidth;
  float found = 0.0f;
  for_each_item(p.pixels * runs, [&](int64_t i) {
    const int64_t pixel = i / runs;
    float v[kWidth];
    load_run<kWidth>(p.x, p.xType, pixel * p.xPitch + (i - pixel * runs) * kWidth, v);
    found = largest_of<kWidth>(v, found);
  });
  found = max_block<256>(found);
  if (threadIdx.x == 0) p.maxima[blockIdx.x] = found;
}

/** The scale that follows from the maxima of all parts. */
__device__ __forceinline__ float common_scale(const QuantizeParams& p) {
  float found = 0.0f;
  for (int i = threadIdx.x; i < p.numMaxima; i += blockDim.x) found = fmaxf(found, p.maxima[i]);
  return code_scale(max_block<256>(found), p.isInt8);
}

/** The pixel of run `i` of all. A division of 64 bits takes longer than memory. */
__device__ __forceinline__ int64_t pixel_of(int64_t i, int64_t all, uint32_t runs) {
  return all <= UINT32_MAX ? static_cast<uint32_t>(i) / runs : i / runs;
}

/** Rounds runs of eight channels with one scale. A thread asks for several before it needs the first. kPacked: pixels lie beside each
 *  other, so that nobody asks which one a run is of, which takes longer than memory. */
template <class T, bool kPacked> __device__ __forceinline__ void round_runs(const QuantizeParams& p, float inverse) {
  constexpr int kBatch = 4;
  const uint32_t runs = p.channels / 8;
  const int64_t all = p.pixels * runs, step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; first < all; first += kBatch * step) {
    Raw8<T> raw[kBatch];
    uint8_t* to[kBatch];
#pragma unroll
    for (int n = 0; n < kBatch; ++n) {
      const int64_t i = first + n * step, pixel = kPacked ? 0 : pixel_of(i, all, runs), c = (i - pixel * runs) * 8;
      to[n] = i < all ? p.y + pixel * p.yPitch + c : nullptr;
      if (i < all) load_raw8<T>(static_cast<const T*>(p.x) + pixel * p.xPitch + c, raw[n]);
    }
#pragma unroll
    for (int n = 0; n < kBatch; ++n) {
      float v[8];
      if (to[n] == nullptr) break;
      unpack_raw8<T>(raw[n], v);
      store_codes<8>(to[n], v, inverse, p.isInt8);
    }
  }
}

template <class T> __device__ __forceinline__ void round_runs(const QuantizeParams& p, float inverse) {
  if (p.xPitch == p.channels && p.yPitch == p.channels) round_runs<T, true>(p, inverse);
  else round_runs<T, false>(p, inverse);
}

template <int kWidth> __device__ __forceinline__ void quantize_known(const QuantizeParams& p) {
  const float common = p.maxima != nullptr ? common_scale(p) : 0.0f;
  if (kWidth == 8 && p.groups == 1 && (p.maxima != nullptr || p.scalePitch == 0)) {
    const float scale = p.maxima != nullptr ? common : *p.scale, inverse = __frcp_rn(scale);
    if (p.scales != nullptr && p.scalesPitch == 0 && blockIdx.x == 0 && threadIdx.x == 0) *p.scales = scale;
    if (p.xType == kF16) round_runs<__half>(p, inverse);
    else if (p.xType == kBf16) round_runs<__nv_bfloat16>(p, inverse);
    else round_runs<float>(p, inverse);
    return;
  }
  const uint32_t runs = p.channels / kWidth;
  for_each_item(p.pixels * runs, [&](int64_t i) {
    const int64_t pixel = pixel_of(i, p.pixels * runs, runs);
    const int c = static_cast<int>(i - pixel * runs) * kWidth, group = p.groups == 1 ? 0 : c / p.width;
    const float scale = p.maxima != nullptr ? common : p.scale[pixel * p.scalePitch + group];
    round_run<kWidth>(p, pixel, c, __frcp_rn(scale));
    if (p.scales != nullptr && c == group * p.width && (p.scalesPitch != 0 || pixel == 0)) p.scales[pixel * p.scalesPitch + group] = scale;
  });
}

/** kLanes lanes to each group of channels that share a scale. */
template <int kWidth, int kLanes> __device__ __forceinline__ void quantize_groups(const QuantizeParams& p) {
  const int64_t item = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  const bool inside = item < p.pixels * p.groups;
  const int64_t pixel = inside ? item / p.groups : 0;
  const int group = static_cast<int>(item - pixel * p.groups), from = group * p.width;
  const int to = inside ? min(from + p.width, p.channels) : from;
  float found = 0.0f;
  for (int c = from + lane * kWidth; c < to; c += kLanes * kWidth) {
    float v[kWidth];
    load_run<kWidth>(p.x, p.xType, pixel * p.xPitch + c, v);
    found = largest_of<kWidth>(v, found);
  }
  const float scale = code_scale(max_lanes<kLanes>(found), p.isInt8), inverse = __frcp_rn(scale);
  for (int c = from + lane * kWidth; c < to; c += kLanes * kWidth) round_run<kWidth>(p, pixel, c, inverse);
  if (inside && lane == 0 && p.scales != nullptr) p.scales[pixel * p.scalesPitch + group] = scale;
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
/** The largest of all blocks of a cluster, each of which has its own at `place`. */
__device__ __forceinline__ float max_cluster(uint32_t place, int numBlocks) {
  float found = 0.0f;
#pragma unroll
  for (int block = 0; block < kMostHeldBlocks; ++block)
    if (block < numBlocks) found = fmaxf(found, ptx::load_cluster16(ptx::map_to_block(place, block)).x);
  return found;
}

/** Blocks of a cluster take runs of eight channels that lie beside each other; a thread reads back only what it has copied itself. */
template <class T> __device__ __forceinline__ void quantize_held(const QuantizeParams& p) {
  extern __shared__ __align__(16) uint8_t heldShared[];
  __shared__ __align__(16) float4 largest;
  constexpr int kRunBytes = 8 * sizeof(T), kStride = kHeldThreads * kRunBytes;
  const int numBlocks = static_cast<int>(ptx::cluster_num_blocks()), rank = static_cast<int>(ptx::cluster_block_rank());
  const uint32_t runs = p.channels / 8, all = static_cast<uint32_t>(p.pixels) * runs;
  const uint32_t first = all * rank / numBlocks + threadIdx.x, end = all * (rank + 1) / numBlocks;
  uint8_t* const held = heldShared + threadIdx.x * kRunBytes;
  uint32_t place = shared_address(held);
  for (uint32_t i = first; i < end; i += kHeldThreads, place += kStride) {
    const uint32_t pixel = i / runs;
    const T* x = static_cast<const T*>(p.x) + pixel * p.xPitch + (i - pixel * runs) * 8;
#pragma unroll
    for (int part = 0; part < kRunBytes / 16; ++part) ptx::copy16(place + 16 * part, x + part * (16 / sizeof(T)), true);
  }
  ptx::copy_commit();
  ptx::copy_wait<0>();

  float found = 0.0f, v[8];
  const uint8_t* at = held;
  for (uint32_t i = first; i < end; i += kHeldThreads, at += kStride) {
    unpack_raw8<T>(*reinterpret_cast<const Raw8<T>*>(at), v);
    found = largest_of<8>(v, found);
  }
  found = max_block<kHeldThreads>(found);
  if (threadIdx.x == 0) largest = make_float4(found, 0.0f, 0.0f, 0.0f);
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const float scale = code_scale(max_cluster(shared_address(&largest), numBlocks), p.isInt8), inverse = __frcp_rn(scale);
  // A block may not leave while others still read its largest.
  ptx::cluster_arrive();
  if (blockIdx.x == 0 && threadIdx.x == 0 && p.scales != nullptr) *p.scales = scale;
  at = held;
  for (uint32_t i = first; i < end; i += kHeldThreads, at += kStride) {
    const uint32_t pixel = i / runs;
    unpack_raw8<T>(*reinterpret_cast<const Raw8<T>*>(at), v);
    store_codes<8>(p.y + pixel * p.yPitch + (i - pixel * runs) * 8, v, inverse, p.isInt8);
  }
  __syncwarp();
  ptx::cluster_wait();
}
#endif

}  // namespace

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
VD_KERNEL_OVERLAPPED(quantize_held_f32, QuantizeParams, kHeldThreads, 1, quantize_held<float>)
VD_KERNEL_OVERLAPPED(quantize_held_f16, QuantizeParams, kHeldThreads, 1, quantize_held<__half>)
VD_KERNEL_OVERLAPPED(quantize_held_bf16, QuantizeParams, kHeldThreads, 1, quantize_held<__nv_bfloat16>)
#endif
VD_KERNEL_OVERLAPPED(quantize_maxima_vector, QuantizeParams, 256, 4, quantize_maxima<8>)
VD_KERNEL_OVERLAPPED(quantize_maxima_scalar, QuantizeParams, 256, 4, quantize_maxima<1>)
VD_KERNEL_OVERLAPPED(quantize_known_vector, QuantizeParams, 256, 4, quantize_known<8>)
VD_KERNEL_OVERLAPPED(quantize_known_scalar, QuantizeParams, 256, 4, quantize_known<1>)
VD_KERNEL_OVERLAPPED(quantize_rows_vector, QuantizeParams, 256, 4, quantize_groups<8, 32>)
VD_KERNEL_OVERLAPPED(quantize_rows_scalar, QuantizeParams, 256, 4, quantize_groups<1, 32>)
VD_KERNEL_OVERLAPPED(quantize_blocks_vector, QuantizeParams, 256, 4, quantize_groups<8, 16>)
VD_KERNEL_OVERLAPPED(quantize_blocks_scalar, QuantizeParams, 256, 4, quantize_groups<1, 32>)
