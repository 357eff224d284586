// Attention's gradients in plain float32 products through shared memory, any type: for what the tensor cores do not take.
//
// 32 rows (of queries, or of keys) a block, eight threads to a row; head dim up to 32 · kParts.
#pragma once
#include "attention_backward_work.cuh"

namespace vd::device {

using PlainTile = float[32][33];

/** Rows [row0, row0 + 32) of channels [c0, c0 + 32), zeros outside. */
template <class T>
__device__ __forceinline__ void plain_load(PlainTile& tile, const T* base, int64_t stride, int row0, int rowEnd, int c0, int dim) {
  for (int i = threadIdx.x; i < 1024; i += 256) {
    const int row = i / 32, c = i % 32;
    tile[row][c] = row0 + row < rowEnd && c0 + c < dim ? to_float(base[(row0 + row) * stride + c0 + c]) : 0.0f;
  }
}

/** Adds products of this thread's row of `a` with rows j + 8i of `b`, over the tiles' channels. */
__device__ __forceinline__ void plain_dots(float (&dots)[4], const PlainTile& a, const PlainTile& b) {
  const int r = threadIdx.x / 8, j = threadIdx.x % 8;
#pragma unroll 8
  for (int c = 0; c < 32; ++c)
#pragma unroll
    for (int i = 0; i < 4; ++i) dots[i] = fmaf(a[r][c], b[j + 8 * i][c], dots[i]);
}

/** Adds rows of `x`, weighted by this thread's row of weights, to channels j + 8i. */
__device__ __forceinline__ void plain_mix(float (&sums)[4], const PlainTile& weights, const PlainTile& x) {
  const int r = threadIdx.x / 8, j = threadIdx.x % 8;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll 8
    for (int row = 0; row < 32; ++row) sums[i] = fmaf(weights[r][row], x[row][j + 8 * i], sums[i]);
}

/** Stores this thread's channels of a row. */
template <class T, int kParts> __device__ __forceinline__ void plain_store(T* row, const float (&sums)[kParts][4], int dim, float factor) {
  const int j = threadIdx.x % 8;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (part * 32 + j + 8 * i < dim) row[part * 32 + j + 8 * i] = from_float<T>(sums[part][i] * factor);
}

/** dq of 32 queries of one head. */
template <class T, int kParts> __device__ __forceinline__ void attention_dq_plain(const AttentionBackwardParams& p) {
  __shared__ PlainTile a, b, weights;
  Work w;
  if (!find_work(p, 32, &w)) return;
  const int r = threadIdx.x / 8, j = threadIdx.x % 8, row = w.row0 + r;
  const T* q = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
  const T* dy = static_cast<const T*>(p.dy.data) + sequence_base(p.dy, w.batch, w.frame, w.head, p.dim);
  const T* k = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, w.frame, w.head, p.dim);
  const T* v = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, w.frame, w.head, p.dim);
  const float offset = row_offset(p, w, row), delta = row_delta(p, w, row);
  float sums[kParts][4] = {};
  const KeyTiles<AttentionBackwardParams> tiles(p, w, 32, 32);
  for (int key0 = tiles.begin; key0 < tiles.end; key0 = tiles.next(p, key0)) {
    float scores[4] = {}, dots[4] = {};
#pragma unroll 1
    for (int c0 = 0; c0 < p.dim; c0 += 32) {
      __syncthreads();
      plain_load(a, q, p.q.row, w.row0, w.rowEnd, c0, p.dim);
      plain_load(b, k, p.k.row, key0, w.keyEnd, c0, p.dim);
      __syncthreads();
      plain_dots(scores, a, b);
      __syncthreads();
      plain_load(a, dy, p.dy.row, w.row0, w.rowEnd, c0, p.dim);
      plain_load(b, v, p.v.row, key0, w.keyEnd, c0, p.dim);
      __syncthreads();
      plain_dots(dots, a, b);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float probability = exp2f(masked_score(p, w, scores[i], row, key0 + j + 8 * i) - offset);
      weights[r][j + 8 * i] = probability * (dots[i] - delta);
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (part * 32 < p.dim) {
        __syncthreads();
        plain_load(a, k, p.k.row, key0, w.keyEnd, part * 32, p.dim);
        __syncthreads();
        plain_mix(sums[part], weights, a);
      }
    }
  }
  if (row >= w.rowEnd) return;
  T* dq = static_cast<T*>(const_cast<void*>(p.dq.data)) + sequence_base(p.dq, w.batch, w.frame, w.head, p.dim);
  plain_store<T, kParts>(dq + row * p.dq.row, sums, p.dim, p.scale);
}

/** dk and dv of 32 keys of one head, over all rows that see them. */
template <class T, int kParts> __device__ __forceinline__ void attention_dkv_plain(const AttentionBackwardParams& p) {
  __shared__ PlainTile a, b, probabilities, weights;
  KeyWork block;
  if (!find_key_work(p, 32, &block)) return;
  Work& w = block.work;
  const int r = threadIdx.x / 8, j = threadIdx.x % 8, key = block.tile0 + r;
  const T* k = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, block.keyFrame, w.head, p.dim);
  const T* v = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, block.keyFrame, w.head, p.dim);
  float keySums[kParts][4] = {}, valueSums[kParts][4] = {};
  const RowTiles tiles(p, block, 32, 32);
  for (; w.frame < block.frameEnd; ++w.frame) {
    const T* q = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
    const T* dy = static_cast<const T*>(p.dy.data) + sequence_base(p.dy, w.batch, w.frame, w.head, p.dim);
    for (int row0 = tiles.begin; row0 < tiles.end; row0 = tiles.next(p, row0)) {
      float scores[4] = {}, dots[4] = {};
#pragma unroll 1
      for (int c0 = 0; c0 < p.dim; c0 += 32) {
        __syncthreads();
        plain_load(a, k, p.k.row, block.tile0, w.keyEnd, c0, p.dim);
        plain_load(b, q, p.q.row, row0, w.rowEnd, c0, p.dim);
        __syncthreads();
        plain_dots(scores, a, b);
        __syncthreads();
        plain_load(a, v, p.v.row, block.tile0, w.keyEnd, c0, p.dim);
        plain_load(b, dy, p.dy.row, row0, w.rowEnd, c0, p.dim);
        __syncthreads();
        plain_dots(dots, a, b);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = row0 + j + 8 * i;
        const float probability = exp2f(masked_score(p, w, scores[i], row, key) - row_offset(p, w, row));
        probabilities[r][j + 8 * i] = probability;
        weights[r][j + 8 * i] = probability * (dots[i] - row_delta(p, w, row));
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        if (part * 32 < p.dim) {
          __syncthreads();
          plain_load(a, dy, p.dy.row, row0, w.rowEnd, part * 32, p.dim);
          plain_load(b, q, p.q.row, row0, w.rowEnd, part * 32, p.dim);
          __syncthreads();
          if (p.dv.data) plain_mix(valueSums[part], probabilities, a);
          if (p.dk.data) plain_mix(keySums[part], weights, b);
        }
      }
    }
  }
  if (key >= w.keyEnd) return;
  const auto row_of = [&](const AttentionView& view) {
    return static_cast<T*>(const_cast<void*>(view.data)) + sequence_base(view, w.batch, block.keyFrame, w.head, p.dim) + key * view.row;
  };
  if (p.dk.data) plain_store<T, kParts>(row_of(p.dk), keySums, p.dim, p.scale);
  if (p.dv.data) plain_store<T, kParts>(row_of(p.dv), valueSums, p.dim, 1.0f);
}

}  // namespace vd::device
