// Attention in plain float32 products through shared memory, any type: for what the tensor cores do not take.
//
// Masks, causal, windows, packed sequences, log-sum-exp, any row stride.
#pragma once
#include "../../device/attention_work.cuh"
#include "attention_params.h"

namespace vd::device {

/** 32 rows a block, eight threads to a row; head dim up to 32 · kParts. */
template <class T, int kParts, class Params> __device__ __forceinline__ void attention_plain(const Params& p) {
  __shared__ float a[32][33], b[32][33], probabilities[32][33];
  Work w;
  if (!find_work(p, 32, &w)) return;
  const int r = threadIdx.x / 8, j = threadIdx.x % 8, row = w.row0 + r;
  const T* q = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
  const T* k = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, w.frame, w.head, p.dim);
  const T* v = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, w.frame, w.head, p.dim);
  float max = -INFINITY, sum = 0.0f, out[kParts][4] = {};
  const auto load = [&](float (&tile)[32][33], const T* base, int64_t stride, int row0, int rowEnd, int c0) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      const int tr = i / 32, c = i % 32;
      tile[tr][c] = row0 + tr < rowEnd && c0 + c < p.dim ? to_float(base[(row0 + tr) * stride + c0 + c]) : 0.0f;
    }
  };
  const KeyTiles<Params> tiles(p, w, 32, 32);
  for (int key0 = tiles.begin; key0 < tiles.end; key0 = tiles.next(p, key0)) {
    float scores[4] = {};
#pragma unroll 1
    for (int c0 = 0; c0 < p.dim; c0 += 32) {
      __syncthreads();
      load(a, q, p.q.row, w.row0, w.rowEnd, c0);
      load(b, k, p.k.row, key0, w.keyEnd, c0);
      __syncthreads();
#pragma unroll 8
      for (int c = 0; c < 32; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[i] = fmaf(a[r][c], b[j + 8 * i][c], scores[i]);
    }
    float best = max;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[i] = masked_score(p, w, scores[i], row, key0 + j + 8 * i);
      best = fmaxf(best, scores[i]);
    }
    for (int o = 1; o < 8; o <<= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, o));
    const float offset = best == -INFINITY ? 0.0f : best, factor = exp2f(max - offset);
    max = best;
    sum *= factor;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float e = exp2f(scores[i] - offset);
      sum += e;
      probabilities[r][j + 8 * i] = e;
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (part * 32 < p.dim) {
        __syncthreads();
        load(a, v, p.v.row, key0, w.keyEnd, part * 32);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float o = out[part][i] * factor;
#pragma unroll 8
          for (int key = 0; key < 32; ++key) o = fmaf(probabilities[r][key], a[key][j + 8 * i], o);
          out[part][i] = o;
        }
      }
    }
  }
  for (int o = 1; o < 8; o <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  if (row >= w.rowEnd) return;
  const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, w.batch, w.frame, w.head, p.dim) + row * p.y.row;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (part * 32 + j + 8 * i < p.dim) y[part * 32 + j + 8 * i] = from_float<T>(out[part][i] * inverse);
  if (j == 0) store_lse(p, w, row, max, sum);
}

}  // namespace vd::device
