// Attention by flash tiles on mma.sync: 16-bit types, any head dim up to kDim (zero-padded), any row stride, masks, causal,
// packed sequences, log-sum-exp.
//
// A warp owns 16 query rows. Queries stay in shared memory with one tile of keys and one of values; scores and outputs are in
// registers, the softmax is online. The next keys load while scores become probabilities, values while scores are computed.
#pragma once
#include "../../device/kernel.cuh"
#include "../../device/ptx/mma.cuh"
#include "attention_work.cuh"

namespace vd::device {

/** Element type, head dim of scores (padded), output channels of a block, keys of a tile, warps. */
template <class T_, int kDim_, int kKeys_, int kWarps_> struct FlashConfig {
  using T = T_;
  static constexpr int kDim = kDim_, kKeys = kKeys_, kWarps = kWarps_;
  static constexpr int kOut = kDim > 256 ? 256 : kDim;  // wider heads take one block per 256 output channels
  static constexpr int kRows = 16 * kWarps, kThreads = 32 * kWarps;
  static constexpr int kPitch = kDim * 2 + 16, kPitchV = kOut * 2 + 16;  // odd numbers of 16 bytes: no bank conflicts
  static_assert(kDim % 16 == 0 && kKeys % 16 == 0, "products have depth 16");
};

/** Copies rows [row0, row0 + kCount) of channels [c0, c0 + kWidth) to shared memory, zeros outside. */
template <class Config, int kCount, int kWidth>
__device__ __forceinline__ void flash_load(const AttentionMmaParams& p, uint32_t dst, const typename Config::T* base, int64_t stride,
                                           int row0, int rowEnd, int c0) {
  using T = typename Config::T;
  constexpr int kChunks = kWidth / 8, kPitch = kWidth * 2 + 16;
  for (int i = threadIdx.x; i < kCount * kChunks; i += Config::kThreads) {
    const int row = i / kChunks, chunk = i % kChunks, c = c0 + chunk * 8;
    const bool inside = row0 + row < rowEnd && c < p.dim;
    const T* source = base + (row0 + row) * stride + c;
    const uint32_t at = dst + row * kPitch + chunk * 16;
    if (p.vector) {
      ptx::copy16(at, inside ? source : base, inside);
    } else {
      float v[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = inside && c + j < p.dim ? to_float(source[j]) : 0.0f;
      ptx::store_shared16(at, pack8<T>(v));
    }
  }
}

/** scores[16 rows, kKeys] of this warp. */
template <class Config> __device__ __forceinline__ void flash_scores(float (&scores)[Config::kKeys / 8][4], uint32_t q, uint32_t k) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int n = 0; n < Config::kKeys / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = 0.0f;
#pragma unroll(Config::kDim > 128 ? 2 : 8)
  for (int step = 0; step < Config::kDim / 16; ++step) {
    uint32_t a[4];
    ptx::ldmatrix_x4(a, q + (lane & 15) * Config::kPitch + step * 32 + (lane >> 4) * 16);
#pragma unroll
    for (int pair = 0; pair < Config::kKeys / 16; ++pair) {
      uint32_t r[4];
      ptx::ldmatrix_x4(r, k + (pair * 16 + (lane & 7) + (lane >> 4) * 8) * Config::kPitch + step * 32 + (lane >> 3 & 1) * 16);
      const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
      ptx::mma_16816<typename Config::T>(scores[2 * pair], a, b0);
      ptx::mma_16816<typename Config::T>(scores[2 * pair + 1], a, b1);
    }
  }
}

/** out[16 rows, kOut] += P · V. */
template <class Config>
__device__ __forceinline__ void flash_values(float (&out)[Config::kOut / 8][4], const float (&scores)[Config::kKeys / 8][4], uint32_t v) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int step = 0; step < Config::kKeys / 16; ++step) {
    const float* s0 = scores[2 * step];
    const float* s1 = scores[2 * step + 1];
    const uint32_t a[4] = {pack2<T>(s0[0], s0[1]), pack2<T>(s0[2], s0[3]), pack2<T>(s1[0], s1[1]), pack2<T>(s1[2], s1[3])};
#pragma unroll
    for (int pair = 0; pair < Config::kOut / 16; ++pair) {
      uint32_t r[4];
      ptx::ldmatrix_x4_transposed(r, v + (step * 16 + (lane & 15)) * Config::kPitchV + pair * 32 + (lane >> 4) * 16);
      const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
      ptx::mma_16816<T>(out[2 * pair], a, b0);
      ptx::mma_16816<T>(out[2 * pair + 1], a, b1);
    }
  }
}

/** Of a thread's two rows: the largest score so far, times log2(e), and the sum of its own keys' probabilities. */
struct FlashState {
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
};

/** Scale, mask, running maximum; scores become probabilities and outputs are rescaled. */
template <class Config>
__device__ __forceinline__ void flash_softmax(const AttentionMmaParams& p, const Work& w, FlashState& state,
                                              float (&scores)[Config::kKeys / 8][4], float (&out)[Config::kOut / 8][4], int row, int key0) {
  const int lane = threadIdx.x & 3;
  const bool plain = !p.mask && !p.causal && key0 + Config::kKeys <= w.keyEnd;
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
template <class Config> __device__ __forceinline__ void attention_mma(const AttentionMmaParams& p) {
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
  int keyEnd = w.keyEnd;
  if (p.causal) keyEnd = min(keyEnd, w.key0 + min(w.row0 + Config::kRows, w.rowEnd) - w.firstRow);

  flash_load<Config, Config::kRows, Config::kDim>(p, q, qBase, p.q.row, w.row0, w.rowEnd, 0);
  if (w.key0 < keyEnd) flash_load<Config, Config::kKeys, Config::kDim>(p, k, kBase, p.k.row, w.key0, w.keyEnd, 0);
  ptx::copy_commit();
  FlashState state;
  float out[Config::kOut / 8][4] = {};
  for (int key0 = w.key0; key0 < keyEnd; key0 += Config::kKeys) {
    flash_load<Config, Config::kKeys, Config::kOut>(p, v, vBase, p.v.row, key0, w.keyEnd, c0);
    ptx::copy_commit();
    ptx::copy_wait<1>();
    __syncthreads();  // K has arrived
    float scores[Config::kKeys / 8][4];
    flash_scores<Config>(scores, q + warp * 16 * Config::kPitch, k);
    __syncthreads();  // K may be overwritten
    if (key0 + Config::kKeys < keyEnd)
      flash_load<Config, Config::kKeys, Config::kDim>(p, k, kBase, p.k.row, key0 + Config::kKeys, w.keyEnd, 0);
    ptx::copy_commit();
    flash_softmax<Config>(p, w, state, scores, out, row, key0);
    ptx::copy_wait<1>();
    __syncthreads();  // V has arrived
    flash_values<Config>(out, scores, v);
    __syncthreads();  // V may be overwritten
  }
  ptx::copy_wait<0>();
  flash_store<Config>(p, w, state, out, row, c0);
}

}  // namespace vd::device
