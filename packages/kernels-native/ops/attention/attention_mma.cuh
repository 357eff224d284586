// Attention by flash tiles on mma.sync: 16-bit types, any head dim up to kDim (zero-padded), any row stride, masks, causal,
// windows, packed sequences, log-sum-exp.
//
// A warp owns 16 query rows. Queries stay in shared memory with one tile of keys and one of values; scores and outputs are in
// registers, the softmax is online. The next keys load while scores become probabilities, values while scores are computed.
#pragma once
#include "../../device/attention_work.cuh"
#include "../../device/flash_tiles.cuh"
#include "../../device/kernel.cuh"
#include "attention_params.h"

namespace vd::device {

/** Of a thread's two rows: the largest score so far, times log2(e), and the sum of its own keys' probabilities. */
struct FlashState {
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
};

/** Scale, mask, running maximum; scores become probabilities and outputs are rescaled. allVisible: no window hides a score. */
template <class Config, class Params>
__device__ __forceinline__ void flash_softmax(const Params& p, const Work& w, FlashState& state, float (&scores)[Config::kKeys / 8][4],
                                              float (&out)[Config::kOut / 8][4], int row, int key0, bool allVisible) {
  const int lane = threadIdx.x & 3;
  const bool plain = !p.mask && !p.causal && allVisible && key0 + Config::kKeys <= w.keyEnd;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float best = state.max[r];
#pragma unroll
    for (int n = 0; n < Config::kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& s = scores[n][2 * r + i];
        s = plain ? s * (p.scale * kLog2e) : masked_score(p, w, s, row + 8 * r, key0 + 8 * n + 2 * lane + i);
        best = fmaxf(best, s);
      }
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
    const float offset = best == -INFINITY ? 0.0f : best;  // no key so far: every probability is 0
    const float factor = ptx::exp2_approx(state.max[r] - offset);
    state.max[r] = best;
    float sum = state.sum[r] * factor;
#pragma unroll
    for (int n = 0; n < Config::kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& s = scores[n][2 * r + i];
        s = ptx::exp2_approx(s - offset);
        sum += s;
      }
    state.sum[r] = sum;
#pragma unroll
    for (int n = 0; n < Config::kOut / 8; ++n) {
      out[n][2 * r] *= factor;
      out[n][2 * r + 1] *= factor;
    }
  }
}

/** Divides by the sums and stores outputs [16 rows, kOut] from channel c0, and with the first channels the log-sum-exp. */
template <class Config>
__device__ __forceinline__ void flash_store(const AttentionMmaParams& p, const Work& w, FlashState& state,
                                            float (&out)[Config::kOut / 8][4], int row, int c0) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 3;
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, w.batch, w.frame, w.head, p.dim);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (row + 8 * r >= w.rowEnd) continue;
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    T* at = y + (row + 8 * r) * p.y.row;
#pragma unroll
    for (int n = 0; n < Config::kOut / 8; ++n) {
      const int c = c0 + 8 * n + 2 * lane;
      const float a = out[n][2 * r] * inverse, b = out[n][2 * r + 1] * inverse;
      if (p.vector) {
        if (c < p.dim) *reinterpret_cast<uint32_t*>(at + c) = pack2<T>(a, b);
      } else {
        if (c < p.dim) at[c] = from_float<T>(a);
        if (c + 1 < p.dim) at[c + 1] = from_float<T>(b);
      }
    }
    if (lane == 0 && c0 == 0) store_lse(p, w, row + 8 * r, state.max[r], sum);
  }
}

/** One block: kRows queries of one head against all of their keys, kOut channels of the outputs from blockIdx.y · kOut. */
template <class Config, class Params> __device__ __forceinline__ void attention_mma(const Params& p) {
  using T = typename Config::T;
  extern __shared__ __align__(16) uint8_t dynamicShared[];
  const uint32_t q = shared_address(dynamicShared), k = q + Config::kRows * Config::kPitch, v = k + Config::kKeys * Config::kPitch;
  Work w;
  if (!find_work(p, Config::kRows, &w)) return;
  const int c0 = blockIdx.y * Config::kOut;
  const T* qBase = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
  const T* kBase = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, w.frame, w.head, p.dim);
  const T* vBase = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, w.frame, w.head, p.dim);
  const int warp = threadIdx.x / 32, row = w.row0 + warp * 16 + (threadIdx.x & 31) / 4;
  const KeyTiles<Params> tiles(p, w, Config::kRows, Config::kKeys);
  int keyEnd = tiles.end;
  if (!Params::kLocal && p.causal) keyEnd = min(keyEnd, w.key0 + min(w.row0 + Config::kRows, w.rowEnd) - w.firstRow);

  flash_load<Config, Config::kRows, Config::kDim>(p, q, qBase, p.q.row, w.row0, w.rowEnd, 0);
  if (tiles.begin < keyEnd) flash_load<Config, Config::kKeys, Config::kDim>(p, k, kBase, p.k.row, tiles.begin, w.keyEnd, 0);
  ptx::copy_commit();
  FlashState state;
  float out[Config::kOut / 8][4] = {};
  for (int key0 = tiles.begin; key0 < keyEnd; key0 = tiles.next(p, key0)) {
    flash_load<Config, Config::kKeys, Config::kOut>(p, v, vBase, p.v.row, key0, w.keyEnd, c0);
    ptx::copy_commit();
    ptx::copy_wait<1>();
    __syncthreads();  // K has arrived
    float scores[Config::kKeys / 8][4];
    flash_scores<Config>(scores, q + warp * 16 * Config::kPitch, k);
    __syncthreads();  // K may be overwritten
    if (tiles.next(p, key0) < keyEnd)
      flash_load<Config, Config::kKeys, Config::kDim>(p, k, kBase, p.k.row, tiles.next(p, key0), w.keyEnd, 0);
    ptx::copy_commit();
    flash_softmax<Config>(p, w, state, scores, out, row, key0, tiles.all_visible(p, key0));
    ptx::copy_wait<1>();
    __syncthreads();  // V has arrived
    flash_values<Config>(out, scores, v);
    __syncthreads();  // V may be overwritten
  }
  ptx::copy_wait<0>();
  flash_store<Config>(p, w, state, out, row, c0);
}

}  // namespace vd::device
