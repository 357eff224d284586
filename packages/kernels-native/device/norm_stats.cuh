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

/** Sums and squares of one vector of channels over this lane's pixels, about the first pixel of the chunk. */
template <class T, int kWidth>
__device__ __forceinline__ void chunk_sums(const NormPartialParams& p, int64_t base, int first, int end, int c, float (&sum)[kWidth],
                                           float (&square)[kWidth]) {
  const SourceColumn<T> column = source_column<T>(p.source, base, c);
  float shift[kWidth];
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

/** Where channel c of a chunk's sums lies in shared memory: vectors side by side, so that neighbouring threads, which have
 *  neighbouring vectors, use neighbouring banks. */
template <int kWidth> __device__ __forceinline__ int sums_slot(int c, int vectors) { return c % kWidth * vectors + c / kWidth; }

/** Moments of every group from those of its channels, which count `pixels` each: `total` holds (mean, deviations) by slot.
 *  Eight threads to a group. */
template <int kWidth>
__device__ __forceinline__ void write_group_moments(const NormPartialParams& p, const float2* total, int vectors, int frame, int chunk,
                                                    int pixels) {
  constexpr int kTeam = 8;
  const int size = p.groupChannels, member = threadIdx.x % kTeam;
  for (int first = 0; first < p.groups; first += blockDim.x / kTeam) {
    const int g = first + threadIdx.x / kTeam;
    const int begin = g * size, count = g < p.groups ? size : 0;
    const auto of = [&](int i) { return total[sums_slot<kWidth>(begin + i, vectors)]; };
    // About the first channel's mean: what is summed is small.
    const float around = count > 0 ? of(0).x : 0.0f;
    float sum = 0.0f, deviations = 0.0f, spread = 0.0f;
    for (int i = member; i < count; i += kTeam) {
      const float2 v = of(i);
      sum += v.x - around;
      deviations += v.y;
    }
    const float mean = around + sum_lanes<kTeam>(sum) / size;
    for (int i = member; i < count; i += kTeam) {
      const float d = of(i).x - mean;
      spread = fmaf(d, d, spread);
    }
    deviations = sum_lanes<kTeam>(fmaf(spread, static_cast<float>(pixels), deviations));
    if (count > 0 && member == 0)
      static_cast<float2*>(p.partial)[(static_cast<int64_t>(frame) * p.groups + g) * p.numChunks + chunk] = make_float2(mean, deviations);
  }
}

/** Block (chunk, frame): moments of every group in the chunk. Shared: float2 [lanes, C], then float2 [C]. */
template <class T, int kWidth> __device__ __forceinline__ void norm_partial(const NormPartialParams& p) {
  extern __shared__ float2 normShared[];
  const int frame = blockIdx.y, chunk = blockIdx.x;
  const int channels = p.source.channels + p.source.channels2, vectors = channels / kWidth;
  const int64_t base = static_cast<int64_t>(frame) * p.source.pixels + static_cast<int64_t>(chunk) * p.chunkPixels;
  const int end = min(p.chunkPixels, p.source.pixels - chunk * p.chunkPixels);
  float2* total = normShared + p.lanes * channels;
  for (int item = threadIdx.x; item < vectors * p.lanes; item += blockDim.x) {
    const int vector = item % vectors, lane = item / vectors;
    float sum[kWidth], square[kWidth];
    chunk_sums<T, kWidth>(p, base, lane, end, vector * kWidth, sum, square);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) normShared[lane * channels + i * vectors + vector] = make_float2(sum[i], square[i]);
  }
  __syncthreads();
  for (int slot = threadIdx.x; slot < channels; slot += blockDim.x) {
    const int c = slot % vectors * kWidth + slot / vectors;
    float sum = 0.0f, square = 0.0f;
    for (int lane = 0; lane < p.lanes; ++lane) {
      const float2 v = normShared[lane * channels + slot];
      sum += v.x;
      square += v.y;
    }
    const float mean = sum / end;
    total[slot] = make_float2(to_float(*source_column<T>(p.source, base, c).data) + mean, fmaxf(fmaf(-sum, mean, square), 0.0f));
  }
  __syncthreads();
  write_group_moments<kWidth>(p, total, vectors, frame, chunk, end);
}

/** Moments of the row's group over all chunks and frames, merged by 128 threads in a fixed order. */
__device__ __forceinline__ Moments merge_partials(const NormFinishParams& p, int row, int g) {
  __shared__ Moments merged[128];
  Moments m{0.0f, 0.0f, 0.0f};
  for (int i = threadIdx.x; i < p.framesPerRow * p.numChunks; i += 128) {
    const int frame = i / p.numChunks, chunk = i % p.numChunks;
    const int64_t at = (static_cast<int64_t>(row * p.framesPerRow + frame) * p.groups + g) * p.numChunks + chunk;
    const float2 v = static_cast<const float2*>(p.partial)[at];
    const int pixels = min(p.chunkPixels, p.pixels - chunk * p.chunkPixels);
    m = merge(m, {v.x, v.y, static_cast<float>(pixels) * p.groupChannels});
  }
  merged[threadIdx.x] = m;
  __syncthreads();
  for (int step = 64; step > 0; step >>= 1) {
    if (threadIdx.x < step) merged[threadIdx.x] = merge(merged[threadIdx.x], merged[threadIdx.x + step]);
    __syncthreads();
  }
  return merged[0];
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
#define VD_NORM_STATISTICS_OF(op, type, name)                                      \
  VD_KERNEL(op##_partial_##name, NormPartialParams, 320, 2, norm_partial<type, 8>) \
  VD_KERNEL(op##_partial_##name##_scalar, NormPartialParams, 320, 2, norm_partial<type, 1>)
#define VD_NORM_STATISTICS(op)                   \
  VD_NORM_STATISTICS_OF(op, float, f32)          \
  VD_NORM_STATISTICS_OF(op, __half, f16)         \
  VD_NORM_STATISTICS_OF(op, __nv_bfloat16, bf16) \
  VD_KERNEL(op##_finish, NormFinishParams, 128, 1, norm_finish)
