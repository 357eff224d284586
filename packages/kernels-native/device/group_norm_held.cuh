// A norm of channel groups in one launch, for rows whose slices fit in the shared memory of a cluster: x is read once.
//
//   block: some pixels of a row, by a set of whole groups ──► shared memory; moments of its groups ──► cluster barrier
//          every block merges the moments of all blocks in their order ──► normalises what it holds, activates, stores
//
// A thread copies and normalises one vector of eight channels, which lie in one group or two, of the pixels of its lane. For the moments a
// warp takes a vector, so that the lanes' sums meet in registers. Sums are added in another order than by norm_partial, and the planner
// chooses by the number of rows: plans that are batch-invariant do not have this. Figures: docs/kernels/group_norm.md.
#pragma once
#include <type_traits>

#include "activation.cuh"
#include "norm_stats.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "quantized.cuh"

namespace vd::device {

inline constexpr int kMostHeldBlocks = 8, kHeldWarps = kNormHeldThreads / 32;
/** Most groups of a set: 256 channels by 4. */
inline constexpr int kMostHeldGroups = 64;

/** Which channels of a vector of eight are of its first group, [0, border), and which of the next one, if any; and that group. */
struct HeldVector {
  int group, border;
  __device__ __forceinline__ HeldVector(int vector, int groupChannels)
      : group(8 * vector / groupChannels), border(min((group + 1) * groupChannels - 8 * vector, 8)) {}
};

/** Sums over the lanes of a warp of values around `shift`, of one part of a vector's channels. */
struct HeldSums {
  float shift, sum, square;
};

/** Sums of one part of a vector's channels, from what a warp's lanes hold of it: `count` pixels of this lane, `step` bytes apart. What
 *  differences are taken from is the mean of the lanes' first pixels, so that no single value decides how exact they are. */
template <class T, bool kFirst> __device__ __forceinline__ HeldSums held_sums(const uint8_t* held, int step, int count, int border) {
  const auto counts = [&](int i) { return kFirst ? i < border : i >= border; };
  float v[8], first = 0.0f;
  if (count > 0) {
    unpack_raw8<T>(*reinterpret_cast<const Raw8<T>*>(held), v);
#pragma unroll
    for (int i = 0; i < 8; ++i) first += counts(i) ? v[i] : 0.0f;
  }
  const float lanes = sum_lanes<32>(count > 0 ? 1.0f : 0.0f);
  HeldSums sums{sum_lanes<32>(first) / fmaxf(lanes * (kFirst ? border : 8 - border), 1.0f), 0.0f, 0.0f};
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    unpack_raw8<T>(*reinterpret_cast<const Raw8<T>*>(held + static_cast<int64_t>(k) * step), v);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float d = counts(i) ? v[i] - sums.shift : 0.0f;
      sums.sum += d;
      sums.square = fmaf(d, d, sums.square);
    }
  }
  return {sums.shift, sum_lanes<32>(sums.sum), sum_lanes<32>(sums.square)};
}

/** Their moments; values: how many they are of. */
__device__ __forceinline__ float4 held_moments(const HeldSums& sums, float values) {
  const float part = values > 0.0f ? sums.sum / values : 0.0f;
  return make_float4(sums.shift + part, fmaxf(fmaf(-sums.sum, part, sums.square), 0.0f), values, 0.0f);
}

/** How the warps of a block share the vectors of a set: `parts` of them each takes every parts-th run of 32 pixels of one. */
__device__ __forceinline__ int held_parts(int vectors) { return max(kHeldWarps / vectors, 1); }

/** The moments of each part of each vector, of its first group and of the next. */
template <class T>
__device__ __forceinline__ void held_measure(const uint8_t* shared, int vectors, int pixels, int groupChannels, float4 (&found)[2][32]) {
  constexpr int kVectorBytes = 8 * sizeof(T);
  const int parts = held_parts(vectors), lane = threadIdx.x % 32;
  for (int task = threadIdx.x / 32; task < vectors * parts; task += kHeldWarps) {
    const int vector = task / parts, first = task % parts * 32, stride = parts * 32;
    const int mine = max((pixels - first - lane + stride - 1) / stride, 0);
    const HeldVector place(vector, groupChannels);
    const uint8_t* held = shared + ((first + lane) * vectors + vector) * kVectorBytes;
    const float count = sum_lanes<32>(static_cast<float>(mine));
    const int step = stride * vectors * kVectorBytes;
    const HeldSums sums = held_sums<T, true>(held, step, mine, place.border);
    if (lane == 0) found[0][task] = held_moments(sums, count * place.border);
    if (place.border == 8) continue;
    const HeldSums next = held_sums<T, false>(held, step, mine, place.border);
    if (lane == 0) found[1][task] = held_moments(next, count * (8 - place.border));
  }
}

/** A warp's moments of group `g` of the set over the whole block, by butterflies. */
__device__ __forceinline__ Moments held_group_moments(int g, int vectors, int groupChannels, const float4 (&found)[2][32]) {
  const int parts = held_parts(vectors), begin = g * groupChannels, end = begin + groupChannels;
  const int firstVector = begin / 8, count = ((end - 1) / 8 - firstVector + 1) * parts, lane = threadIdx.x % 32;
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  // A group that begins inside a vector is that vector's next one.
  if (lane < count) v = found[lane < parts && begin % 8 != 0 ? 1 : 0][firstVector * parts + lane];
  const float total = sum_lanes<32>(v.z), around = __shfl_sync(0xffffffffu, v.x, 0);
  const float mean = around + sum_lanes<32>(v.z * (v.x - around)) / fmaxf(total, 1.0f);
  return {mean, sum_lanes<32>(fmaf(v.z * (v.x - mean), v.x - mean, v.y)), total};
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
__device__ __forceinline__ void held_load(const void* data, int type, int c, float (&v)[8]) {
  if ((reinterpret_cast<uint64_t>(data) & 15) == 0) return load8_any(data, type, c, v);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = load_any(data, type, c + i);
}

/** Normalises, activates and stores what a thread holds. statistics: mean and 1/deviation of the set's groups. */
template <class T, bool kCodes>
__device__ __forceinline__ void held_apply(const NormHeldParams& p, const float2* statistics, const HeldAffine& affine, const uint8_t* held,
                                           int stride, int count, int64_t pixel, int step, int vector, int c) {
  const HeldVector place(vector, p.groupChannels);
  const float2 here = statistics[place.group], next = statistics[place.border < 8 ? place.group + 1 : place.group];
  float mean[8], scale[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float2 s = i < place.border ? here : next;
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
  constexpr int kVectorBytes = 8 * sizeof(T);
  __shared__ __align__(16) float4 found[2][32];
  __shared__ __align__(16) float4 moments[kMostHeldGroups];
  __shared__ float2 statistics[kMostHeldGroups];
  const int numBlocks = static_cast<int>(ptx::cluster_num_blocks()), rank = static_cast<int>(ptx::cluster_block_rank());
  const int numSets = (p.source.channels + p.source.channels2) / p.setChannels, item = blockIdx.x / numBlocks;
  const int row = item / numSets, set = item % numSets, vectors = p.setChannels / 8, lanes = kNormHeldThreads / vectors;
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
  held_load(p.weight, p.weightType, c, affine.weight);
  held_load(p.bias, p.biasType, c, affine.bias);
  ptx::copy_wait<0>();
  __syncthreads();

  held_measure<T>(heldShared, vectors, pixels, p.groupChannels, found);
  __syncthreads();
  const int groups = p.setChannels / p.groupChannels;
  for (int g = threadIdx.x / 32; g < groups; g += kHeldWarps) {
    const Moments m = held_group_moments(g, vectors, p.groupChannels, found);
    if (threadIdx.x % 32 != 0) continue;
    moments[g] = make_float4(m.mean, m.deviations, m.count, 0.0f);
    if (numBlocks == 1) statistics[g] = make_float2(m.mean, 1.0f / sqrtf(m.deviations / m.count + p.eps));
  }
  if (numBlocks > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
    if (threadIdx.x < groups) {
      const Moments m = held_cluster_moments(shared_address(moments + threadIdx.x), numBlocks);
      statistics[threadIdx.x] = make_float2(m.mean, 1.0f / sqrtf(m.deviations / m.count + p.eps));
    }
  }
  __syncthreads();
  // A block may not leave while others still read its moments.
  if (numBlocks > 1) ptx::cluster_arrive();
  if (count > 0) held_apply<T, kCodes>(p, statistics, affine, held, stride, count, pixel, lanes, vector, c);
  if (numBlocks > 1) ptx::cluster_wait();
}

}  // namespace vd::device

/** The kernels op_held_<dtype>, on architectures that have clusters; the file says `using namespace vd::device` before. */
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
#define VD_NORM_HELD(op, codes)                                                                        \
  VD_KERNEL_OVERLAPPED(op##_held_f32, NormHeldParams, kNormHeldThreads, 1, (norm_held<float, codes>))  \
  VD_KERNEL_OVERLAPPED(op##_held_f16, NormHeldParams, kNormHeldThreads, 2, (norm_held<__half, codes>)) \
  VD_KERNEL_OVERLAPPED(op##_held_bf16, NormHeldParams, kNormHeldThreads, 2, (norm_held<__nv_bfloat16, codes>))
#else
#define VD_NORM_HELD(op, codes)
#endif
