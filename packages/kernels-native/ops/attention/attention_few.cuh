// Attention over a few frames: a thread owns a query of one head and everything lives in its registers. Tensor cores would multiply
// tiles of zeros: 512 pixels of 16 heads of 16 channels over two frames took 82 us in tiles on an H200.
//
// 16-bit types in aligned rows, whole vectors of eight channels, up to kFewKeys keys; no masks, no log-sum-exp.
#pragma once
#include "../../device/attention_work.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/math.cuh"
#include "../../device/vec.cuh"
#include "attention_params.h"

namespace vd::device {

/** Heads of neighbouring threads lie beside each other. */
template <class T> __device__ __forceinline__ void attention_few(const AttentionMmaParams& p) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (item >= static_cast<int64_t>(p.numHeadsFrames) * p.seqQ) return;
  const int head = static_cast<int>(item % p.heads);
  const int64_t rest = item / p.heads, sequence = rest / p.seqQ;
  const int query = static_cast<int>(rest % p.seqQ), frame = static_cast<int>(sequence % p.frames);
  const int batch = static_cast<int>(sequence / p.frames);
  const T* q = static_cast<const T*>(p.q.data) + sequence_base(p.q, batch, frame, head, p.dim) + query * p.q.row;
  const T* k = static_cast<const T*>(p.k.data) + sequence_base(p.k, batch, frame, head, p.dim);
  const T* v = static_cast<const T*>(p.v.data) + sequence_base(p.v, batch, frame, head, p.dim);
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, batch, frame, head, p.dim) + query * p.y.row;
  float scores[kFewKeys] = {};
  for (int c = 0; c < p.dim; c += 8) {
    float ours[8];
    load8(q + c, ours);
#pragma unroll
    for (int j = 0; j < kFewKeys; ++j) {
      if (j >= p.seqK) continue;
      float theirs[8];
      load8(k + j * p.k.row + c, theirs);
#pragma unroll
      for (int i = 0; i < 8; ++i) scores[j] = fmaf(ours[i], theirs[i], scores[j]);
    }
  }
  const float unit = p.scale * kLog2e;
  float best = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int j = 0; j < kFewKeys; ++j) {
    scores[j] = j < p.seqK ? scores[j] * unit : -INFINITY;
    best = fmaxf(best, scores[j]);
  }
#pragma unroll
  for (int j = 0; j < kFewKeys; ++j) {
    scores[j] = ptx::exp2_approx(scores[j] - best);
    sum += scores[j];
  }
  const float inverse = 1.0f / sum;
  for (int c = 0; c < p.dim; c += 8) {
    float out[8] = {};
#pragma unroll
    for (int j = 0; j < kFewKeys; ++j) {
      if (j >= p.seqK) continue;
      float theirs[8];
      load8(v + j * p.v.row + c, theirs);
#pragma unroll
      for (int i = 0; i < 8; ++i) out[i] = fmaf(scores[j], theirs[i], out[i]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) out[i] *= inverse;
    store8(y + c, out);
  }
}

}  // namespace vd::device
