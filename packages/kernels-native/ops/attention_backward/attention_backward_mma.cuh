// Attention's gradients by tiles on mma.sync: 16-bit types, any head dim up to kDim (zero-padded), any row stride.
//
// A warp owns 16 queries (dq) or 16 keys (dk and dv) of a block, whose rows stay in shared memory while tiles of the other side
// pass. Probabilities are computed anew from the log-sum-exp, so memory is that of the operands. Every sum is taken in one order.
#pragma once
#include "../../device/flash_tiles.cuh"
#include "attention_backward_work.cuh"

namespace vd::device {

/** Stores a warp's sums [16 rows, kOut] times a factor. */
template <class Config>
__device__ __forceinline__ void store_gradient(typename Config::T* base, int64_t stride, bool vector,
                                               const float (&sums)[Config::kOut / 8][4], int row, int rowEnd, int dim, float factor) {
  using T = typename Config::T;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (row + 8 * r >= rowEnd) continue;
    T* at = base + (row + 8 * r) * stride;
#pragma unroll
    for (int n = 0; n < Config::kOut / 8; ++n) {
      const int c = 8 * n + 2 * (threadIdx.x & 3);
      const float a = sums[n][2 * r] * factor, b = sums[n][2 * r + 1] * factor;
      if (vector) {
        if (c < dim) *reinterpret_cast<uint32_t*>(at + c) = pack2<T>(a, b);
      } else {
        if (c < dim) at[c] = from_float<T>(a);
        if (c + 1 < dim) at[c + 1] = from_float<T>(b);
      }
    }
  }
}

/** dq of kRows queries of one head. */
template <class Config> __device__ __forceinline__ void attention_dq(const AttentionBackwardParams& p) {
  using T = typename Config::T;
  constexpr int kRows = Config::kRows, kKeys = Config::kKeys, kDim = Config::kDim;
  extern __shared__ __align__(16) uint8_t dynamicShared[];
  const uint32_t q = shared_address(dynamicShared), dy = q + kRows * Config::kPitch, k = dy + kRows * Config::kPitch;
  const uint32_t v = k + kKeys * Config::kPitch;
  Work w;
  if (!find_work(p, kRows, &w)) return;
  const T* qBase = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
  const T* dyBase = static_cast<const T*>(p.dy.data) + sequence_base(p.dy, w.batch, w.frame, w.head, p.dim);
  const T* kBase = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, w.frame, w.head, p.dim);
  const T* vBase = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, w.frame, w.head, p.dim);
  const int warp = threadIdx.x / 32, quad = threadIdx.x & 3, row = w.row0 + warp * 16 + (threadIdx.x & 31) / 4;
  const float offset[2] = {row_offset(p, w, row), row_offset(p, w, row + 8)};
  const float delta[2] = {row_delta(p, w, row), row_delta(p, w, row + 8)};
  flash_load<Config, kRows, kDim>(p, q, qBase, p.q.row, w.row0, w.rowEnd, 0);
  flash_load<Config, kRows, kDim>(p, dy, dyBase, p.dy.row, w.row0, w.rowEnd, 0);
  float sums[Config::kOut / 8][4] = {};
  const KeyTiles<AttentionBackwardParams> tiles(p, w, kRows, kKeys);
  for (int key0 = tiles.begin; key0 < tiles.end; key0 = tiles.next(p, key0)) {
    flash_load<Config, kKeys, kDim>(p, k, kBase, p.k.row, key0, w.keyEnd, 0);
    flash_load<Config, kKeys, kDim>(p, v, vBase, p.v.row, key0, w.keyEnd, 0);
    ptx::copy_commit();
    ptx::copy_wait<0>();
    __syncthreads();
    float scores[kKeys / 8][4], dots[kKeys / 8][4];
    flash_scores<Config>(scores, q + warp * 16 * Config::kPitch, k);
    flash_scores<Config>(dots, dy + warp * 16 * Config::kPitch, v);
    const bool plain = !p.mask && tiles.all_visible(p, key0);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int r = i / 2, key = key0 + 8 * n + 2 * quad + i % 2;
        const float score = plain ? scores[n][i] * (p.scale * kLog2e) : masked_score(p, w, scores[n][i], row + 8 * r, key);
        scores[n][i] = ptx::exp2_approx(score - offset[r]) * (dots[n][i] - delta[r]);
      }
    flash_values<Config>(sums, scores, k);
    __syncthreads();  // K and V may be overwritten
  }
  ptx::copy_wait<0>();
  T* dq = static_cast<T*>(const_cast<void*>(p.dq.data)) + sequence_base(p.dq, w.batch, w.frame, w.head, p.dim);
  store_gradient<Config>(dq, p.dq.row, p.dqVector, sums, row, w.rowEnd, p.dim, p.scale);
}

/** dk and dv of kRows keys of one head, over all rows that see them, kKeys rows at a time. */
template <class Config> __device__ __forceinline__ void attention_dkv(const AttentionBackwardParams& p) {
  using T = typename Config::T;
  constexpr int kBlockKeys = Config::kRows, kTileRows = Config::kKeys, kDim = Config::kDim;
  extern __shared__ __align__(16) uint8_t dynamicShared[];
  __shared__ float offsets[kTileRows], deltas[kTileRows];
  const uint32_t k = shared_address(dynamicShared), v = k + kBlockKeys * Config::kPitch, q = v + kBlockKeys * Config::kPitch;
  const uint32_t dy = q + kTileRows * Config::kPitch;
  KeyWork block;
  if (!find_key_work(p, kBlockKeys, &block)) return;
  Work& w = block.work;
  const T* kBase = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, block.keyFrame, w.head, p.dim);
  const T* vBase = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, block.keyFrame, w.head, p.dim);
  const int warp = threadIdx.x / 32, quad = threadIdx.x & 3, key = block.tile0 + warp * 16 + (threadIdx.x & 31) / 4;
  flash_load<Config, kBlockKeys, kDim>(p, k, kBase, p.k.row, block.tile0, w.keyEnd, 0);
  flash_load<Config, kBlockKeys, kDim>(p, v, vBase, p.v.row, block.tile0, w.keyEnd, 0);
  float keySums[Config::kOut / 8][4] = {}, valueSums[Config::kOut / 8][4] = {};
  const RowTiles tiles(p, block, kBlockKeys, kTileRows);
#pragma unroll 1
  for (; w.frame < block.frameEnd; ++w.frame) {
    const T* qBase = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
    const T* dyBase = static_cast<const T*>(p.dy.data) + sequence_base(p.dy, w.batch, w.frame, w.head, p.dim);
#pragma unroll 1
    for (int row0 = tiles.begin; row0 < tiles.end; row0 = tiles.next(p, row0)) {
      flash_load<Config, kTileRows, kDim>(p, q, qBase, p.q.row, row0, w.rowEnd, 0);
      flash_load<Config, kTileRows, kDim>(p, dy, dyBase, p.dy.row, row0, w.rowEnd, 0);
      ptx::copy_commit();
      if (threadIdx.x < kTileRows) {
        offsets[threadIdx.x] = row_offset(p, w, row0 + threadIdx.x);
        deltas[threadIdx.x] = row_delta(p, w, row0 + threadIdx.x);
      }
      ptx::copy_wait<0>();
      __syncthreads();
      float scores[kTileRows / 8][4], dots[kTileRows / 8][4];
      flash_scores<Config>(scores, k + warp * 16 * Config::kPitch, q);
      flash_scores<Config>(dots, v + warp * 16 * Config::kPitch, dy);
#pragma unroll
      for (int n = 0; n < kTileRows / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = 8 * n + 2 * quad + i % 2;
          const float score = masked_score(p, w, scores[n][i], row0 + at, key + 8 * (i / 2));
          const float probability = ptx::exp2_approx(score - offsets[at]);
          scores[n][i] = probability;
          dots[n][i] = probability * (dots[n][i] - deltas[at]);
        }
      if (p.dv.data) flash_values<Config>(valueSums, scores, dy);
      if (p.dk.data) flash_values<Config>(keySums, dots, q);
      __syncthreads();  // rows may be overwritten
    }
  }
  ptx::copy_wait<0>();
  const auto base_of = [&](const AttentionView& view) {
    return static_cast<T*>(const_cast<void*>(view.data)) + sequence_base(view, w.batch, block.keyFrame, w.head, p.dim);
  };
  if (p.dk.data) store_gradient<Config>(base_of(p.dk), p.dk.row, p.dkVector, keySums, key, w.keyEnd, p.dim, p.scale);
  if (p.dv.data) store_gradient<Config>(base_of(p.dv), p.dv.row, p.dvVector, valueSums, key, w.keyEnd, p.dim, 1.0f);
}

}  // namespace vd::device
