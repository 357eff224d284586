// Group statistics in two launches: per chunk of pixels, then over chunks (and frames). No atomics: the order is fixed.
#pragma once
#include "kernel.cuh"
#include "norm_stats.h"
#include "reduce.cuh"
#include "vec.cuh"

namespace vd::device {

/** Where channels from `c` of [x | x2] start, and the distance between pixels. */
template <class T> struct SourceColumn {
  const T* data;
  int64_t pitch;
};
template <class T> __device__ __forceinline__ SourceColumn<T> source_column(const NormSource& s, int64_t pixel, int c) {
  const bool second = c >= s.channels;
  const int64_t pitch = second ? s.pitch2 : s.pitch;
  return {static_cast<const T*>(second ? s.x2 : s.x) + pixel * pitch + (second ? c - s.channels : c), pitch};
}

/** Calls body(v, pixel) for pixels first, first + step, .. < end of a column of kWidth channels. Vectors are loaded a
 *  round before they are used. */
template <class T, int kWidth, class Body>
__device__ __forceinline__ void walk_column(const SourceColumn<T>& column, int first, int end, int step, Body body) {
  if constexpr (kWidth == 8) {
    constexpr int kBatch = 8 / sizeof(T);  // 64 bytes a round
    Raw8<T> now[kBatch], next[kBatch];
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
      if (first + u * step < end) load_raw8(column.data + (first + u * step) * column.pitch, now[u]);
#pragma unroll 1
    for (int pixel = first; pixel < end; pixel += kBatch * step) {
#pragma unroll
      for (int u = 0; u < kBatch; ++u)
        if (pixel + (kBatch + u) * step < end) load_raw8(column.data + (pixel + (kBatch + u) * step) * column.pitch, next[u]);
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        float v[8];
        unpack_raw8<T>(now[u], v);
        if (pixel + u * step < end) body(v, pixel + u * step);
        now[u] = next[u];
      }
    }
  } else {
    for (int pixel = first; pixel < end; pixel += step) {
      float v[1] = {to_float(column.data[pixel * column.pitch])};
      body(v, pixel);
    }
  }
}

/** Sums and squares of one vector of channels over this lane's pixels, about the first pixel of the chunk, which is `shift`. */
template <class T, int kWidth>
__device__ __forceinline__ void chunk_sums(const NormPartialParams& p, int64_t base, int first, int end, int c, float (&shift)[kWidth],
                                           float (&sum)[kWidth], float (&square)[kWidth]) {
  const SourceColumn<T> column = source_column<T>(p.source, base, c);
  if constexpr (kWidth == 8) {
    Raw8<T> raw;
    load_raw8(column.data, raw);
    unpack_raw8<T>(raw, shift);
  } else {
    shift[0] = to_float(column.data[0]);
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum[i] = square[i] = 0.0f;
  walk_column<T, kWidth>(column, first, end, p.lanes, [&](const float (&v)[kWidth], int) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float d = v[i] - shift[i];
      sum[i] += d;
      square[i] = fmaf(d, d, square[i]);
    }
  });
}

/** Shared memory of a block: (sum, square) of each lane and channel, then what each channel's are about. */
template <int kWidth> struct ChunkSumsTable {
  float2* sums;
  float* shifts;
  int channels;

  /** Where channel c's pair lies in a lane's. Vectors of eight in pieces of 16 bytes, which neighbouring vectors turn: their stores meet
   * all banks. */
  static __device__ __forceinline__ int slot(int c) {
    if constexpr (kWidth == 8) return c ^ (c >> 4 & 3) << 1;
    else return c;
  }
  __device__ __forceinline__ float2 at(int lane, int c) const { return sums[lane * channels + slot(c)]; }
  __device__ __forceinline__ void put(int lane, int c, const float (&sum)[kWidth], const float (&square)[kWidth]) const {
    float2* own = sums + lane * channels;
    if constexpr (kWidth == 8) {
#pragma unroll
      for (int i = 0; i < 8; i += 2)
        *reinterpret_cast<float4*>(own + slot(c + i)) = make_float4(sum[i], square[i], sum[i + 1], square[i + 1]);
    } else {
      own[c] = make_float2(sum[0], square[0]);
    }
  }
};

/** Calls body(pair, shift, pixels) for every kTeam-th of a group's sums, those of all its channels in each of the lanes, from the member's
 * own on. Lane l has the pixels of the chunk from l on, `lanes` apart; the group's channels are `size` from `begin` on. */
template <int kTeam, int kWidth, class Body>
__device__ __forceinline__ void visit_sums(const ChunkSumsTable<kWidth>& table, int begin, int size, int lanes, int pixels, Body body) {
  const int each = pixels / lanes, more = pixels - each * lanes, member = threadIdx.x % kTeam;
  // Counted on: a division for each would be most of the work.
  const int stepLane = kTeam / size, step = kTeam % size;
  for (int lane = member / size, i = member % size; lane < lanes;) {
    body(table.at(lane, begin + i), table.shifts[begin + i], static_cast<float>(each + (lane < more ? 1 : 0)));
    lane += stepLane;
    i += step;
    if (i >= size) {
      i -= size;
      ++lane;
    }
  }
}

/** Moments of every group in a chunk of `pixels`. Eight threads to a group. */
template <int kWidth>
__device__ __forceinline__ void write_group_moments(const NormPartialParams& p, const ChunkSumsTable<kWidth>& table, int frame, int chunk,
                                                    int pixels) {
  constexpr int kTeam = 8;
  const int size = p.groupChannels;
  for (int from = 0; from < p.groups; from += blockDim.x / kTeam) {
    const int g = from + threadIdx.x / kTeam, begin = g * size;
    const bool there = g < p.groups;
    const float around = there ? table.shifts[begin] : 0.0f;  // what is summed is small
    float sum = 0.0f, deviations = 0.0f;
    if (there)
      visit_sums<kTeam>(table, begin, size, p.lanes, pixels,
                        [&](float2 v, float shift, float count) { sum += fmaf(count, shift - around, v.x); });
    const float mean = around + sum_lanes<kTeam>(sum) / (static_cast<float>(pixels) * size);
    if (there)
      visit_sums<kTeam>(table, begin, size, p.lanes, pixels, [&](float2 v, float shift, float count) {
        const float apart = shift - mean;
        deviations += fmaxf(fmaf(apart, fmaf(apart, count, 2.0f * v.x), v.y), 0.0f);
      });
    deviations = sum_lanes<kTeam>(deviations);
    if (there && threadIdx.x % kTeam == 0)
      static_cast<float2*>(p.partial)[(static_cast<int64_t>(frame) * p.groups + g) * p.numChunks + chunk] = make_float2(mean, deviations);
  }
}

/** Block (chunk, frame): moments of every group in the chunk. Shared: a ChunkSumsTable. */
template <class T, int kWidth> __device__ __forceinline__ void norm_partial(const NormPartialParams& p) {
  extern __shared__ float4 normShared[];
  const int frame = blockIdx.y, chunk = blockIdx.x;
  const int channels = p.source.channels + p.source.channels2, vectors = channels / kWidth;
  const int64_t base = static_cast<int64_t>(frame) * p.source.pixels + static_cast<int64_t>(chunk) * p.chunkPixels;
  const int end = min(p.chunkPixels, p.source.pixels - chunk * p.chunkPixels);
  auto* sums = reinterpret_cast<float2*>(normShared);
  const ChunkSumsTable<kWidth> table{sums, reinterpret_cast<float*>(sums + p.lanes * channels), channels};
  for (int item = threadIdx.x; item < vectors * p.lanes; item += blockDim.x) {
    const int c = item % vectors * kWidth, lane = item / vectors;
    float shift[kWidth], sum[kWidth], square[kWidth];
    chunk_sums<T, kWidth>(p, base, lane, end, c, shift, sum, square);
    table.put(lane, c, sum, square);
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) table.shifts[c + i] = shift[i];
    }
  }
  __syncthreads();
  write_group_moments<kWidth>(p, table, frame, chunk, end);
}

/** Calls body(partial, count) for a thread's share of the partial moments of a row's group: warps take frames, lanes chunks. */
template <class Body> __device__ __forceinline__ void visit_partials(const NormFinishParams& p, int row, int g, Body body) {
  for (int frame = threadIdx.x / 32; frame < p.framesPerRow; frame += 4) {
    const float2* partial =
        static_cast<const float2*>(p.partial) + (static_cast<int64_t>(row * p.framesPerRow + frame) * p.groups + g) * p.numChunks;
#pragma unroll 4
    for (int chunk = threadIdx.x % 32; chunk < p.numChunks; chunk += 32) {
      const int pixels = min(p.chunkPixels, p.pixels - chunk * p.chunkPixels);
      body(partial[chunk], static_cast<float>(pixels) * p.groupChannels);
    }
  }
}

/** Moments of the row's group over all chunks and frames, by 128 threads in a fixed order. */
__device__ __forceinline__ Moments merge_partials(const NormFinishParams& p, int row, int g) {
  const float around = static_cast<const float2*>(p.partial)[(static_cast<int64_t>(row) * p.framesPerRow * p.groups + g) * p.numChunks].x;
  const float total = static_cast<float>(p.framesPerRow) * p.pixels * p.groupChannels;
  float sum = 0.0f, deviations = 0.0f;
  visit_partials(p, row, g, [&](float2 v, float count) { sum = fmaf(count, v.x - around, sum); });
  const float mean = around + sum_block<128>(sum) / total;
  visit_partials(p, row, g, [&](float2 v, float count) { deviations += fmaf((v.x - mean) * (v.x - mean), count, v.y); });
  return {mean, sum_block<128>(deviations), total};
}

/** bias - mean · scale - shift, where shift is that sum rounded: around a large mean it is more than a result's last digit.
 *  The product's error is exact by fma, the sum's by Knuth's two-sum. */
__device__ __forceinline__ float shift_rest(float mean, float scale, float bias, float shift) {
  const float product = __fmul_rn(mean, scale), productRest = fmaf(mean, scale, -product);
  const float sum = bias - product, moved = sum - bias;
  const float sumRest = (bias - (sum - moved)) - (product + moved);
  return (sum - shift) + sumRest - productRest;
}

/** Block (row, group): statistics of the group, and its channels' affine map. */
__device__ __forceinline__ void norm_finish(const NormFinishParams& p) {
  const int row = blockIdx.x / p.groups, g = blockIdx.x % p.groups;
  float mean, rstd;
  if (p.given) {
    mean = p.given[p.statsPitch * blockIdx.x];
    rstd = p.given[p.statsPitch * blockIdx.x + 1];
  } else {
    const Moments m = merge_partials(p, row, g);
    mean = m.mean;
    rstd = 1.0f / sqrtf(m.deviations / m.count + p.eps);
  }
  if (p.stats && threadIdx.x == 0) {
    p.stats[p.statsPitch * blockIdx.x] = mean;
    p.stats[p.statsPitch * blockIdx.x + 1] = rstd;
  }
  if (!p.affine) return;
  for (int i = threadIdx.x; i < p.groupChannels; i += 128) {
    const int c = g * p.groupChannels + i;
    const float scale = rstd * load_any(p.weight, p.weightType, c);
    const int64_t at = static_cast<int64_t>(row) * p.groups * p.groupChannels + c;
    const float bias = load_any(p.bias, p.biasType, c), shift = fmaf(-mean, scale, bias);
    static_cast<float2*>(p.affine)[at] = make_float2(scale, shift);
    if (p.shiftRest) p.shiftRest[at] = shift_rest(mean, scale, bias, shift);
  }
}

}  // namespace vd::device

/** The kernels of the statistics, op_partial_<dtype>[_scalar] and op_finish; the file says `using namespace vd::device` before. */
#define VD_NORM_STATISTICS_OF(op, type, name)                                                 \
  VD_KERNEL_OVERLAPPED(op##_partial_##name, NormPartialParams, 320, 2, norm_partial<type, 8>) \
  VD_KERNEL_OVERLAPPED(op##_partial_##name##_scalar, NormPartialParams, 320, 2, norm_partial<type, 1>)
#define VD_NORM_STATISTICS(op)                   \
  VD_NORM_STATISTICS_OF(op, float, f32)          \
  VD_NORM_STATISTICS_OF(op, __half, f16)         \
  VD_NORM_STATISTICS_OF(op, __nv_bfloat16, bf16) \
  VD_KERNEL_OVERLAPPED(op##_finish, NormFinishParams, 128, 1, norm_finish)
