// A norm of channel groups in one launch, for rows whose slices fit in the registers of a cluster: x is read once.
//
//   block: some pixels of a row, by a set of whole groups ──► registers; moments of its groups ──► every block of the cluster
//          cluster barrier ──► every block merges the moments of all ──► normalises what it holds, activates, stores
//
// A thread holds one vector of eight channels, which lie in one group or two, of the pixels of its lane. Rows that this is for are small,
// so what counts is how long one launch waits: weights that nothing writes are there before the launch before has ended, what is read is
// asked for at once, moments are pushed to the blocks that need them, and the loops have one activation. Sums are added in another order
// than by norm_partial, and the planner chooses by the number of rows: plans that are batch-invariant do not have this. Figures:
// docs/kernels/group_norm.md.
#pragma once
#include <type_traits>

#include "activation.cuh"
#include "norm_stats.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mbarrier.cuh"
#include "quantized.cuh"

namespace vd::device {

/** Which channels of a vector of eight are of its first group, [0, border), and which of the next one, if any; and that group. */
struct HeldVector {
  int group, border;
  __device__ __forceinline__ HeldVector(int vector, int groupChannels)
      : group(8 * vector / groupChannels), border(min((group + 1) * groupChannels - 8 * vector, 8)) {}
};

/** How the threads of a block share its pixels: each of `lanes` has `least` of them, the first `more` lanes one more. */
struct HeldLanes {
  int lanes, pixels, least, more;
  __device__ __forceinline__ HeldLanes(int pixels, int vectors)
      : lanes(kNormHeldThreads / vectors), pixels(pixels), least(pixels / lanes), more(pixels % lanes) {}
  __device__ __forceinline__ int count(int lane) const { return lane < lanes ? least + (lane < more) : 0; }
};

/** Weights and biases of a thread's channels. */
struct HeldAffine {
  float weight[8], bias[8];
};
__device__ __forceinline__ void held_load(const void* data, int type, int c, float (&v)[8]) {
  if ((reinterpret_cast<uint64_t>(data) & 15) == 0) return load8_any(data, type, c, v);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = load_any(data, type, c + i);
}

/** Eight elements that may have been written while this launch was on its way. */
template <class T> __device__ __forceinline__ void read_held(const T* p, Raw8<T>& raw) {
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) raw.q[i] = reinterpret_cast<const uint4*>(p)[i];
}

/** Has the compiler forget what it unpacked: kept from the moments to the results, floats would take twice the registers. */
template <class T, int kHeld> __device__ __forceinline__ void keep_packed(Raw8<T> (&held)[kHeld]) {
#pragma unroll
  for (int k = 0; k < kHeld; ++k)
#pragma unroll
    for (uint4& q : held[k].q) asm volatile("" : "+r"(q.x), "+r"(q.y), "+r"(q.z), "+r"(q.w));
}

/** Mean and squared deviations of `values` numbers from their sums around `shift`. */
__device__ __forceinline__ float2 held_moments(float shift, float sum, float square, int values) {
  const float part = __fdividef(sum, static_cast<float>(max(values, 1)));
  return make_float2(shift + part, fmaxf(fmaf(-sum, part, square), 0.0f));
}

/** Numbers of a vector's first group and of the next one. */
struct HeldPair {
  float first = 0.0f, next = 0.0f;
  __device__ __forceinline__ void add(bool isFirst, float value) {
    first += isFirst ? value : 0.0f;
    next += isFirst ? 0.0f : value;
  }
};

/** Moments of what a thread holds of its vector's first group, found[0], and of the next one, found[1]. Differences are taken from the
 *  mean of the thread's first pixel. */
template <class T, int kHeld>
__device__ __forceinline__ void held_measure(const Raw8<T> (&held)[kHeld], int count, int border, float2 (&found)[2]) {
  float v[8], sum[8] = {}, square[8] = {};
  HeldPair shift, sums, squares;
  unpack_raw8<T>(held[0], v);
#pragma unroll
  for (int i = 0; i < 8; ++i) shift.add(i < border, v[i]);
  shift.first /= border;
  shift.next /= max(8 - border, 1);
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    if (k >= count) continue;
    unpack_raw8<T>(held[k], v);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float d = v[i] - (i < border ? shift.first : shift.next);
      sum[i] += d;
      square[i] = fmaf(d, d, square[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    sums.add(i < border, sum[i]);
    squares.add(i < border, square[i]);
  }
  found[0] = held_moments(shift.first, sums.first, squares.first, count * border);
  found[1] = held_moments(shift.next, sums.next, squares.next, count * (8 - border));
}

/** A warp's moments of group `g` of the set over the whole block, by butterflies. found: of each thread, by vector and lane. */
__device__ __forceinline__ Moments held_group_moments(int g, int groupChannels, const HeldLanes& share,
                                                      const float2 (&found)[2][kNormHeldThreads]) {
  const int begin = g * groupChannels, end = begin + groupChannels, firstVector = begin / 8, lane = threadIdx.x & 31;
  const float count = static_cast<float>(share.pixels) * groupChannels;
  // Calls body(moments, how many numbers they are of) for this lane's part. A group that begins inside a vector is that vector's next one.
  const auto for_each = [&](auto&& body) {
    for (int vector = firstVector; 8 * vector < end; ++vector) {
      const float2* of = found[vector == firstVector && begin % 8 != 0 ? 1 : 0] + vector * share.lanes;
      const int width = min(end, 8 * vector + 8) - max(begin, 8 * vector);
#pragma unroll 4
      for (int i = lane; i < share.lanes; i += 32) body(of[i], static_cast<float>(width * share.count(i)));
    }
  };
  const float around = found[begin % 8 != 0 ? 1 : 0][firstVector * share.lanes].x;
  float sum = 0.0f, deviations = 0.0f;
  for_each([&](float2 m, float values) { sum = fmaf(values, m.x - around, sum); });
  const float mean = around + sum_lanes<32>(sum) / fmaxf(count, 1.0f);
  for_each([&](float2 m, float values) { deviations += fmaf(values * (m.x - mean), m.x - mean, m.y); });
  return {mean, sum_lanes<32>(deviations), count};
}

/** A warp's mean and 1/deviation of a group from the moments of all blocks, of which each lane has one, or an empty one. */
__device__ __forceinline__ float2 held_statistics(float4 m, float eps) {
  const float around = __shfl_sync(0xffffffffu, m.x, 0), count = sum_lanes<kMostHeldBlocks>(m.z);
  const float mean = around + sum_lanes<kMostHeldBlocks>(m.z * (m.x - around)) / count;
  const float deviations = sum_lanes<kMostHeldBlocks>(fmaf(m.z * (m.x - mean), m.x - mean, m.y));
  return make_float2(mean, 1.0f / sqrtf(deviations / count + eps));
}

/** What normalises a thread's channels: (x - mean) · scale + bias. */
struct HeldMap {
  float mean[8], scale[8];
  __device__ __forceinline__ HeldMap(const HeldVector& place, const float2* statistics, const HeldAffine& affine) {
    const float2 here = statistics[place.group], next = statistics[place.border < 8 ? place.group + 1 : place.group];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 s = i < place.border ? here : next;
      mean[i] = s.x;
      scale[i] = s.y * affine.weight[i];
    }
  }
};

/** Where a thread's results go. */
template <class Y> struct HeldTarget {
  Y* y;
  int64_t step;  // elements from one of its pixels to the next
  float inverse;  // of the scale of codes
  bool isInt8;
};

/** Normalises a vector, activates it by `act` and stores it as the thread's k-th. */
template <bool kCodes, class T, class Y, class Act>
__device__ __forceinline__ void held_finish(const Raw8<T>& raw, int k, const HeldMap& map, const HeldAffine& affine,
                                            const HeldTarget<Y>& to, Act&& act) {
  float v[8];
  unpack_raw8<T>(raw, v);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i] - map.mean[i], map.scale[i], affine.bias[i]);
  act(v);
  if constexpr (kCodes) store_codes<8>(to.y + k * to.step, v, to.inverse, to.isInt8);
  else store8(to.y + k * to.step, v);
}

/** Does that with all that a thread holds. The usual activations have loops of their own; others read x again, so that their code is there
 *  once. */
template <bool kCodes, class T, class Y, int kHeld>
__device__ __forceinline__ void held_apply(int act, const Raw8<T> (&held)[kHeld], int count, const SourceColumn<T>& column, int64_t lanes,
                                           const HeldMap& map, const HeldAffine& affine, const HeldTarget<Y>& to) {
  const auto all = [&](auto&& activation) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      if (k < count) held_finish<kCodes>(held[k], k, map, affine, to, activation);
  };
  if (act == kSilu) {
    all([](float (&v)[8]) {
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = silu(v[i]);
    });
  } else if (act == kNone) {
    all([](float (&)[8]) {});
  } else {
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
      Raw8<T> raw;
      read_held(column.data + k * lanes * column.pitch, raw);
      held_finish<kCodes>(raw, k, map, affine, to, [&](float (&v)[8]) { activate(v, act); });
    }
  }
}

/** kVectors: of 16 bits, that a thread holds at most. */
template <class T, bool kCodes, int kVectors> __device__ __forceinline__ void norm_held(const NormHeldParams& p) {
  constexpr int kHeld = kVectors * 2 / static_cast<int>(sizeof(T));
  using Y = std::conditional_t<kCodes, uint8_t, T>;
  begin_next_launch();
  __shared__ float2 found[2][kNormHeldThreads];
  __shared__ __align__(16) float4 moments[kMostHeldBlocks][kMostHeldGroups];
  __shared__ float2 statistics[kMostHeldGroups];
  const int numBlocks = static_cast<int>(ptx::cluster_num_blocks()), rank = static_cast<int>(ptx::cluster_block_rank());
  // Nothing is pushed to a block that has not begun.
  if (numBlocks > 1) ptx::cluster_arrive();
  const int numSets = (p.source.channels + p.source.channels2) / p.setChannels, item = blockIdx.x / numBlocks;
  const int row = item / numSets, set = item % numSets, vectors = p.setChannels / 8, groups = p.setChannels / p.groupChannels;
  const int first = rank * p.blockPixels;
  const HeldLanes share(max(min(p.blockPixels, p.rowPixels - first), 0), vectors);
  const int vector = threadIdx.x % vectors, lane = threadIdx.x / vectors, c = set * p.setChannels + 8 * vector;
  const int count = share.count(lane), warp = threadIdx.x / 32;
  const int64_t pixel = static_cast<int64_t>(row) * p.rowPixels + first + lane;
  const HeldVector place(vector, p.groupChannels);
  if (!p.constantWeights) await_results_before();
  HeldAffine affine;
  held_load(p.weight, p.weightType, c, affine.weight);
  held_load(p.bias, p.biasType, c, affine.bias);
  if (p.constantWeights) await_results_before();

  const SourceColumn<T> column = source_column<T>(p.source, pixel, c);
  Raw8<T> held[kHeld] = {};
#pragma unroll
  for (int k = 0; k < kHeld; ++k)
    if (k < count) read_held(column.data + static_cast<int64_t>(k) * share.lanes * column.pitch, held[k]);
  float2 ours[2];
  held_measure(held, count, place.border, ours);
  keep_packed(held);
  if (lane < share.lanes)
#pragma unroll
    for (int part = 0; part < 2; ++part) found[part][vector * share.lanes + lane] = ours[part];
  __syncthreads();

  if (numBlocks > 1) ptx::cluster_wait();
  for (int g = warp; g < groups; g += kNormHeldThreads / 32) {
    const Moments m = held_group_moments(g, p.groupChannels, share, found);
    const float4 known = make_float4(m.mean, m.deviations, m.count, 0.0f);
    const int to = threadIdx.x & 31;
    if (to >= numBlocks) continue;
    if (numBlocks > 1) ptx::store_cluster16(ptx::map_to_block(shared_address(&moments[rank][g]), to), known);
    else moments[0][g] = known;
  }
  if (numBlocks > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  } else {
    __syncthreads();
  }
  for (int g = warp; g < groups; g += kNormHeldThreads / 32) {
    const int block = threadIdx.x & 31;
    const float2 s = held_statistics(block < numBlocks ? moments[block][g] : make_float4(0.0f, 0.0f, 0.0f, 0.0f), p.eps);
    if (block == 0) statistics[g] = s;
  }
  __syncthreads();

  const HeldTarget<Y> to{static_cast<Y*>(p.y) + pixel * p.yPitch + c, share.lanes * p.yPitch, kCodes ? __frcp_rn(*p.yScale) : 0.0f,
                         p.isInt8 != 0};
  if (count > 0) held_apply<kCodes>(p.act, held, count, column, share.lanes, HeldMap(place, statistics, affine), affine, to);
}

}  // namespace vd::device

/** The kernels op_held_<dtype>_few and _many, by the vectors of a thread, on architectures that have clusters; the file says `using
 * namespace vd::device` before. */
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
#define VD_NORM_HELD_OF(op, type, name, codes)                                                                                             \
  VD_KERNEL(op##_held_##name##_few, NormHeldParams, kNormHeldThreads, kNormHeldFew.blocks, (norm_held<type, codes, kNormHeldFew.vectors>)) \
  VD_KERNEL(op##_held_##name##_many, NormHeldParams, kNormHeldThreads, kNormHeldMany.blocks,                                               \
            (norm_held<type, codes, kNormHeldMany.vectors>))
#define VD_NORM_HELD(op, codes)           \
  VD_NORM_HELD_OF(op, float, f32, codes)  \
  VD_NORM_HELD_OF(op, __half, f16, codes) \
  VD_NORM_HELD_OF(op, __nv_bfloat16, bf16, codes)
#else
#define VD_NORM_HELD(op, codes)
#endif
