// A norm of channel groups in one launch, for rows whose slices fit in the shared memory of a cluster: x is read once.
//
//   block: some pixels of a row, by a set of whole groups ──► shared memory; moments of its groups ──► cluster barrier
//          every block merges the moments of all blocks in their order ──► normalises what it holds, activates, stores
//
// A thread keeps to one vector of eight channels, which lie in one group or two, and to the pixels of its lane: it reads back only
// what it has copied itself. Sums are added in another order than by norm_partial, and the planner chooses by the number of rows: plans
// that are batch-invariant do not have this. Figures: docs/kernels/group_norm.md.
#pragma once
#include <type_traits>

#include "activation.cuh"
#include "norm_stats.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "quantized.cuh"

namespace vd::device {

inline constexpr int kHeldThreads = 256, kMostHeldBlocks = 8;

/** Moments of a thread's values in the one or two groups of its vector, and how many channels each has of it. */
struct HeldParts {
  float2 moments[2];
};

/** Means and deviations of eight channels over a lane's pixels, from what the thread holds. */
template <class T>
__device__ __forceinline__ void held_channel_moments(const uint8_t* held, int stride, int count, float (&mean)[8], float (&deviations)[8]) {
  float shift[8], sum[8], square[8];
  unpack_raw8<T>(*reinterpret_cast<const Raw8<T>*>(held), shift);
#pragma unroll
  for (int i = 0; i < 8; ++i) sum[i] = square[i] = 0.0f;
#pragma unroll 4
  for (int k = 1; k < count; ++k) {
    float v[8];
    unpack_raw8<T>(*reinterpret_cast<const Raw8<T>*>(held + static_cast<int64_t>(k) * stride), v);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float d = v[i] - shift[i];
      sum[i] += d;
      square[i] = fmaf(d, d, square[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float part = sum[i] / count;
    mean[i] = shift[i] + part;
    deviations[i] = fmaxf(fmaf(-sum[i], part, square[i]), 0.0f);
  }
}

/** Moments of channels [begin, end) of a vector, `pixels` values each. */
__device__ __forceinline__ float2 held_join(const float (&mean)[8], const float (&deviations)[8], int begin, int end, int pixels) {
  if (begin >= end) return make_float2(0.0f, 0.0f);
  float around = 0.0f, sum = 0.0f, total = 0.0f, spread = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i == begin) around = mean[i];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i >= begin && i < end) {
      sum += mean[i] - around;
      total += deviations[i];
    }
  const float joined = around + sum / (end - begin);
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i >= begin && i < end) spread = fmaf(mean[i] - joined, mean[i] - joined, spread);
  return make_float2(joined, fmaf(spread, static_cast<float>(pixels), total));
}

/** A warp's moments of group `g` of the set over all threads of the block, in the order of lanes and butterflies. */
__device__ __forceinline__ Moments held_group_moments(const NormHeldParams& p, const HeldParts* parts, int g, int lanes, int pixels) {
  const int vectors = p.setChannels / 8, begin = g * p.groupChannels, end = begin + p.groupChannels;
  const int firstVector = begin / 8, numVectors = (end - 1) / 8 - firstVector + 1;
  const auto value = [&](int i, float2& v, float& count) {
    const int lane = i / numVectors, vector = firstVector + i % numVectors;
    const int low = max(begin, 8 * vector), high = min(end, 8 * vector + 8);
    v = parts[lane * vectors + vector].moments[8 * vector / p.groupChannels == g ? 0 : 1];
    count = static_cast<float>((high - low) * max((pixels - lane + lanes - 1) / lanes, 0));
  };
  float2 v;
  float count;
  value(0, v, count);
  const float around = v.x;
  float sum = 0.0f, deviations = 0.0f;
  for (int i = threadIdx.x % 32; i < lanes * numVectors; i += 32) {
    value(i, v, count);
    sum = fmaf(count, v.x - around, sum);
  }
  const float total = static_cast<float>(pixels) * p.groupChannels;
  const float mean = pixels > 0 ? around + sum_lanes<32>(sum) / total : 0.0f;
  for (int i = threadIdx.x % 32; i < lanes * numVectors; i += 32) {
    value(i, v, count);
    deviations += fmaf(count * (v.x - mean), v.x - mean, v.y);
  }
  return {mean, sum_lanes<32>(deviations), total};
}

/** Moments of a group over all blocks of the cluster, merged in their order. */
__device__ __forceinline__ Moments held_cluster_moments(uint32_t place, int numBlocks) {
  float4 v[kMostHeldBlocks];
#pragma unroll
  for (int block = 0; block < kMostHeldBlocks; ++block)
    if (block < numBlocks) v[block] = ptx::load_cluster16(ptx::map_to_block(place, block));
  Moments m{0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int block = 0; block < kMostHeldBlocks; ++block)
    if (block < numBlocks) m = merge(m, {v[block].x, v[block].y, v[block].z});
  return m;
}

/** Weights and biases of a thread's channels. */
struct HeldAffine {
  float weight[8], bias[8];
};

/** Normalises, activates and stores what a thread holds. statistics: mean and 1/deviation of the set's groups. */
template <class T, bool kCodes>
__device__ __forceinline__ void held_apply(const NormHeldParams& p, const float2* statistics, const HeldAffine& affine, const uint8_t* held,
                                           int stride, int count, int64_t pixel, int step, int vector, int c) {
  float mean[8], scale[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float2 s = statistics[(8 * vector + i) / p.groupChannels];
    mean[i] = s.x;
    scale[i] = s.y * affine.weight[i];
  }
  const float inverse = kCodes ? __frcp_rn(*p.yScale) : 0.0f;
  using Y = std::conditional_t<kCodes, uint8_t, T>;
  Y* y = static_cast<Y*>(p.y) + pixel * p.yPitch + c;
#pragma unroll 2
  for (int k = 0; k < count; ++k) {
    float v[8];
    unpack_raw8<T>(*reinterpret_cast<const Raw8<T>*>(held + static_cast<int64_t>(k) * stride), v);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i] - mean[i], scale[i], affine.bias[i]);
    activate(v, p.act);
    if constexpr (kCodes) store_codes<8>(y + static_cast<int64_t>(k) * step * p.yPitch, v, inverse, p.isInt8);
    else store8(y + static_cast<int64_t>(k) * step * p.yPitch, v);
  }
}

/** Shared: a vector of each thread's pixels, [pixels, vectors]. */
template <class T, bool kCodes> __device__ __forceinline__ void norm_held(const NormHeldParams& p) {
  extern __shared__ __align__(16) uint8_t heldShared[];
  constexpr int kVectorBytes = 8 * sizeof(T), kMostGroups = 64;
  __shared__ HeldParts parts[kHeldThreads];
  __shared__ __align__(16) float4 moments[kMostGroups];
  __shared__ float2 statistics[kMostGroups];
  const int numBlocks = static_cast<int>(ptx::cluster_num_blocks()), rank = static_cast<int>(ptx::cluster_block_rank());
  const int numSets = (p.source.channels + p.source.channels2) / p.setChannels, item = blockIdx.x / numBlocks;
  const int row = item / numSets, set = item % numSets, vectors = p.setChannels / 8, lanes = kHeldThreads / vectors;
  const int vector = threadIdx.x % vectors, lane = threadIdx.x / vectors, c = set * p.setChannels + 8 * vector;
  const int first = rank * p.blockPixels, pixels = max(min(p.blockPixels, p.rowPixels - first), 0);
  const int count = lane < lanes ? max((pixels - lane + lanes - 1) / lanes, 0) : 0;
  const int64_t pixel = static_cast<int64_t>(row) * p.rowPixels + first + lane;
  const SourceColumn<T> column = source_column<T>(p.source, pixel, c);
  const int stride = lanes * vectors * kVectorBytes;
  const uint8_t* held = heldShared + (lane * vectors + vector) * kVectorBytes;
  const uint32_t place = shared_address(held);
  for (int k = 0; k < count; ++k)
#pragma unroll
    for (int part = 0; part < kVectorBytes / 16; ++part)
      ptx::copy16(place + k * stride + 16 * part, column.data + static_cast<int64_t>(k) * lanes * column.pitch + part * (16 / sizeof(T)),
                  true);
  ptx::copy_commit();
  HeldAffine affine;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    affine.weight[i] = load_any(p.weight, p.weightType, c + i);
    affine.bias[i] = load_any(p.bias, p.biasType, c + i);
  }
  ptx::copy_wait<0>();

  float mean[8], deviations[8];
  if (count > 0) {
    held_channel_moments<T>(held, stride, count, mean, deviations);
    const int border = min((8 * vector / p.groupChannels + 1) * p.groupChannels - 8 * vector, 8);
    parts[threadIdx.x] = {{held_join(mean, deviations, 0, border, count), held_join(mean, deviations, border, 8, count)}};
  } else {
    parts[threadIdx.x] = {{make_float2(0.0f, 0.0f), make_float2(0.0f, 0.0f)}};
  }
  __syncthreads();
  const int groups = p.setChannels / p.groupChannels;
  for (int g = threadIdx.x / 32; g < groups; g += kHeldThreads / 32) {
    const Moments m = held_group_moments(p, parts, g, lanes, pixels);
    if (threadIdx.x % 32 == 0) moments[g] = make_float4(m.mean, m.deviations, m.count, 0.0f);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (threadIdx.x < groups) {
    const Moments m = held_cluster_moments(shared_address(moments + threadIdx.x), numBlocks);
    statistics[threadIdx.x] = make_float2(m.mean, 1.0f / sqrtf(m.deviations / m.count + p.eps));
  }
  __syncthreads();
  // A block may not leave while others still read its moments.
  ptx::cluster_arrive();
  if (count > 0) held_apply<T, kCodes>(p, statistics, affine, held, stride, count, pixel, lanes, vector, c);
  ptx::cluster_wait();
}

}  // namespace vd::device

/** The kernels op_held_<dtype>, on architectures that have clusters; the file says `using namespace vd::device` before. */
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
#define VD_NORM_HELD(op, codes)                                                                    \
  VD_KERNEL_OVERLAPPED(op##_held_f32, NormHeldParams, kHeldThreads, 1, (norm_held<float, codes>))  \
  VD_KERNEL_OVERLAPPED(op##_held_f16, NormHeldParams, kHeldThreads, 1, (norm_held<__half, codes>)) \
  VD_KERNEL_OVERLAPPED(op##_held_bf16, NormHeldParams, kHeldThreads, 1, (norm_held<__nv_bfloat16, codes>))
#else
#define VD_NORM_HELD(op, codes)
#endif
