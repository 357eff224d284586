// attention on Hopper, head dim 512, no mask (the VAE's single head): o = softmax(scale · q · kᵀ) · v.
//
// Plan: a block takes 64 query rows; outputs of 64 x 512 floats fill the registers of two consumer warpgroups, 256
// channels each. Scores of a tile of 64 keys are summed over half the channels by each; they exchange halves, so that
// each then owns the scores of 32 keys. Row maxima and probabilities are exchanged through shared memory, too. Two blocks
// of a cluster take neighbouring rows and each multicasts half of every K and V tile to both.
//
// Warps wait for K and V: 128 KiB a tile of 64 rows, one buffer each; loading them in finer parts changed little, as did scores split
// over keys instead of channels. Figures of every version: docs/kernels/attention.md.
//
//   producer: kEmpty ─► half of a part of K to both ─► kFull (four parts);  likewise V (two parts)
//   consumers, tile j: S = Q·K(j)ᵀ, exchange (barrier) | O += P(j-1)·V(j-1), release K | row maxima (barrier) | P(j) to shared, release V (barrier)
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/matrix_descriptor.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/ptx/registers.cuh"
#include "../../device/ptx/tma.cuh"
#include "../../device/ptx/wgmma.cuh"
#include "../../device/ring_sm90.cuh"
#include "attention_maxima.cuh"
#include "attention_params.h"

using namespace vd::device;

namespace {

constexpr int kRows = 64, kKeys = 64, kDim = 512, kSlices = kDim / 64;
constexpr int kSliceBytes = 64 * 128;             // 64 rows of 64 channels
constexpr int kTileBytes = kSlices * kSliceBytes;  // Q, K or V
constexpr int kStagesK = 4, kSlicesPerStage = kSlices / kStagesK;  // a K tile comes in parts of 128 channels
constexpr int kStagesV = 2, kKeysPerStage = kKeys / kStagesV;      // a V tile in parts of 32 keys
constexpr int kThreads = 384;

struct Shared {
  uint32_t q, k, v, p, partial, qFull, kFull, kEmpty, vFull, vEmpty;
};

__device__ __forceinline__ void produce(const AttentionSm90Params& p, const Shared& s, int rank, int row, int head, int frame, int keyFrame) {
  ptx::mbarrier_arrive_expect_tx(s.qFull, kTileBytes);
#pragma unroll 1
  for (int i = 0; i < kSlices; ++i) ptx::tma_load_4d(s.q + i * kSliceBytes, &p.q, s.qFull, head * kDim + 64 * i, row, frame, 0);
  const int numTiles = (p.seqK + kKeys - 1) / kKeys;
  for (int j = 0; j < numTiles; ++j) {
    const uint32_t parity = (j & 1) ^ 1;
    // This block's half (32 keys) of K, to both blocks of the cluster; parts in the order the two warpgroups need them.
#pragma unroll 1
    for (int part = 0; part < kStagesK; ++part) {
      const int stage = (part & 1) * 2 + (part >> 1);
      ptx::mbarrier_wait(s.kEmpty + 8 * stage, parity);
      ptx::mbarrier_arrive_expect_tx(s.kFull + 8 * stage, kTileBytes / kStagesK);
#pragma unroll
      for (int i = stage * kSlicesPerStage; i < (stage + 1) * kSlicesPerStage; ++i)
        ptx::tma_multicast_4d(s.k + i * kSliceBytes + rank * 32 * 128, &p.k, s.kFull + 8 * stage, 3, head * kDim + 64 * i,
                              j * kKeys + 32 * rank, keyFrame, 0);
    }
    // This block's half (16 keys) of each part of V.
#pragma unroll 1
    for (int stage = 0; stage < kStagesV; ++stage) {
      ptx::mbarrier_wait(s.vEmpty + 8 * stage, parity);
      ptx::mbarrier_arrive_expect_tx(s.vFull + 8 * stage, kTileBytes / kStagesV);
      const int key = stage * kKeysPerStage + rank * (kKeysPerStage / 2);
#pragma unroll 1
      for (int i = 0; i < kSlices; ++i)
        ptx::tma_multicast_4d(s.v + i * kSliceBytes + key * 128, &p.v, s.vFull + 8 * stage, 3, head * kDim + 64 * i, j * kKeys + key, keyFrame, 0);
    }
  }
}

/** Issues partial scores[64, 64] over this warpgroup's 256 channels, two parts of K; the second part is released by the
 *  caller, once it is done. */
template <class T> __device__ __forceinline__ void issue_scores(float (&scores)[32], const Shared& s, int group, uint32_t parity) {
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int stage = 2 * group + part;
    ptx::mbarrier_wait(s.kFull + 8 * stage, parity);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSlicesPerStage; ++i) {
      const int slice = stage * kSlicesPerStage + i;
      const uint64_t a = ptx::matrix_descriptor(s.q + slice * kSliceBytes), b = ptx::matrix_descriptor(s.k + slice * kSliceBytes);
#pragma unroll
      for (int step = 0; step < 4; ++step) ptx::Wgmma<T, 64, 0>::run(scores, a + 2 * step, b + 2 * step, part > 0 || i > 0 || step > 0);
    }
    ptx::wgmma_commit();
  }
}

/** Sends the partial scores of the other's keys and adds those it sent: scores[64, 32] of this warpgroup's keys. */
__device__ __forceinline__ void exchange_scores(float (&scores)[16], const float (&partial)[32], const Shared& s, int group) {
  const uint32_t mine = s.partial + group * 8192 + threadIdx.x % 128 * 16, other = s.partial + (group ^ 1) * 8192 + threadIdx.x % 128 * 16;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      scores[4 * i + e] = group ? partial[16 + 4 * i + e] : partial[4 * i + e];
      v[e] = group ? partial[4 * i + e] : partial[16 + 4 * i + e];
    }
    ptx::store_shared16(mine + i * 2048, make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3])));
  }
  ptx::named_barrier(3, 256);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint4 v = ptx::load_shared16(other + i * 2048);
    scores[4 * i] += __uint_as_float(v.x);
    scores[4 * i + 1] += __uint_as_float(v.y);
    scores[4 * i + 2] += __uint_as_float(v.z);
    scores[4 * i + 3] += __uint_as_float(v.w);
  }
}

/** Issues O[64, 256] += P · V for this warpgroup's channels; V's rows are keys, so it is read transposed. */
template <class T>
__device__ __forceinline__ void issue_values(float (&out)[128], const Shared& s, int group, int buffer, bool accumulate, uint32_t parity) {
  const uint64_t a = ptx::matrix_descriptor(s.p + buffer * kSliceBytes), b = ptx::matrix_descriptor(s.v + group * 4 * kSliceBytes, kSliceBytes);
#pragma unroll
  for (int stage = 0; stage < kStagesV; ++stage) {
    ptx::mbarrier_wait(s.vFull + 8 * stage, parity);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 2 * stage; step < 2 * stage + 2; ++step)
      ptx::Wgmma<T, 256, 1>::run(out, a + 2 * step, b + (step * 16 * 128 >> 4), accumulate || step > 0);
    ptx::wgmma_commit();
  }
}

/** Releases the parts of V; waits for the first while the second is still in use. */
__device__ __forceinline__ void finish_values(const Shared& s) {
  ptx::wgmma_wait<1>();
  release_stage<2>(s.vEmpty);
  ptx::wgmma_wait<0>();
  release_stage<2>(s.vEmpty + 8);
}

/** Maximum of the row over both warpgroups' keys; `row` is this thread's row in the tile. */
__device__ __forceinline__ float best_of_row(float (*exchange)[kRows], const float (&scores)[16], int r, int group, int row, bool write) {
  float best = scores[2 * r];
#pragma unroll
  for (int n = 0; n < 4; ++n) best = fmaxf(best, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
  best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
  best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
  if (write) exchange[group][row] = best;
  return best;
}

/** Probabilities of this warpgroup's 32 keys into the swizzled P tile [64 rows, 64 keys]. */
template <class T> __device__ __forceinline__ void store_probabilities(uint32_t tile, const float (&scores)[16], int group, int row) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int line = row + 8 * r, chunk = (group * 4 + n) ^ (line & 7);
      const uint32_t at = tile + line * 128 + chunk * 16 + (threadIdx.x & 3) * 4;
      const uint32_t v = pack2<T>(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]);
      ptx::store_shared4(at, v);
    }
}

template <class T>
__device__ __forceinline__ void store_output(const AttentionSm90Params& p, const float (&out)[128], const float (&inverse)[2], int row, int head,
                                             int frame, int group) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const bool inside = row + 8 * r < p.seqQ;
    T* y = static_cast<T*>(p.y) + (static_cast<int64_t>(frame) * p.seqQ + row + 8 * r) * p.yPitch + head * kDim + group * 256;
#pragma unroll
    for (int block = 0; block < 8; ++block) {
      float2 v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* o = out + (block * 4 + i) * 4 + 2 * r;
        v[i] = make_float2(o[0] * inverse[r], o[1] * inverse[r]);
      }
      transpose_quad(v, lane);
      const float eight[8] = {v[0].x, v[0].y, v[1].x, v[1].y, v[2].x, v[2].y, v[3].x, v[3].y};
      if (inside) store8(y + block * 32 + lane * 8, eight);
    }
  }
}

struct Softmax {
  float max[2], sum[2];  // of this thread's two rows; sums are of this thread's columns only
};

/** Scores of tile j → probabilities in shared memory. Returns whether older outputs must be multiplied with `factors`: both
 *  warpgroups decide alike, since they see the same maxima. */
template <class T>
__device__ __forceinline__ bool soften(const AttentionSm90Params& p, const Shared& s, float (*exchange)[2][kRows], Softmax& state,
                                       float (&scores)[16], int j, int group, int local, float (&factors)[2]) {
  const int lane = threadIdx.x & 3, first = j * kKeys + group * 32 + 2 * lane;
  if (j * kKeys + kKeys > p.seqK) {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      if (first + i / 4 * 8 + (i & 1) >= p.seqK) scores[i] = -INFINITY;
  }
  float best[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) best[r] = best_of_row(exchange[j & 1], scores, r, group, local + 8 * r, lane == 0);
  ptx::named_barrier(1, 256);
#pragma unroll
  for (int r = 0; r < 2; ++r) best[r] = fmaxf(best[r], exchange[j & 1][group ^ 1][local + 8 * r]);
  const bool raised = raise_maxima(state.max, best, p.scale, factors);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float offset = state.max[r] * p.scale;
    float sum = state.sum[r] * factors[r];
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& v = scores[4 * n + 2 * r + i];
        v = ptx::exp2_approx(fmaf(v, p.scale, -offset));
        sum += v;
      }
    state.sum[r] = sum;
  }
  store_probabilities<T>(s.p + (j & 1) * kSliceBytes, scores, group, local);
  ptx::fence_proxy_async();
  return raised;
}

template <class T>
__device__ __forceinline__ void consume(const AttentionSm90Params& p, const Shared& s, float (*exchange)[2][kRows], int group, int row0, int head,
                                        int frame) {
  const int local = threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4, lane = threadIdx.x & 3;
  const int numTiles = (p.seqK + kKeys - 1) / kKeys;
  float out[128], partial[32], scores[16];
  Softmax state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  ptx::mbarrier_wait(s.qFull, 0);
  issue_scores<T>(partial, s, group, 0);
  ptx::wgmma_wait<0>();
  release_stage<2>(s.kEmpty + 16 * group);
  release_stage<2>(s.kEmpty + 16 * group + 8);
  exchange_scores(scores, partial, s, group);
  float factors[2];
  soften<T>(p, s, exchange, state, scores, 0, group, local, factors);
  ptx::named_barrier(2, 256);  // P(0) is complete
  for (int j = 1; j < numTiles; ++j) {
    issue_scores<T>(partial, s, group, j & 1);
    issue_values<T>(out, s, group, (j - 1) & 1, j > 1, (j - 1) & 1);
    ptx::wgmma_wait<kStagesV>();
    release_stage<2>(s.kEmpty + 16 * group);
    release_stage<2>(s.kEmpty + 16 * group + 8);
    exchange_scores(scores, partial, s, group);
    const bool raised = soften<T>(p, s, exchange, state, scores, j, group, local, factors);
    finish_values(s);
    if (raised) {
#pragma unroll
      for (int i = 0; i < 128; ++i) out[i] *= factors[i >> 1 & 1];
    }
    ptx::named_barrier(2, 256);  // P(j) is complete
  }
  issue_values<T>(out, s, group, (numTiles - 1) & 1, numTiles > 1, (numTiles - 1) & 1);
  // Sums over the quad, then over both warpgroups.
  float inverse[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (lane == 0) exchange[numTiles & 1][group][local + 8 * r] = sum;
  }
  finish_values(s);
  ptx::named_barrier(1, 256);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float total = exchange[numTiles & 1][0][local + 8 * r] + exchange[numTiles & 1][1][local + 8 * r];
    inverse[r] = 1.0f / total;
    const int row = row0 + local + 8 * r;
    if (p.lse && lane == 0 && group == 0 && row < p.seqQ)
      p.lse[(static_cast<int64_t>(frame) * p.heads + head) * p.seqQ + row] = (state.max[r] * p.scale + log2f(total)) * kLn2;
  }
  store_output<T>(p, out, inverse, row0 + local, head, frame, group);
}

template <class T> __device__ __forceinline__ void attention_d512(const AttentionSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) uint64_t barriers[1 + 2 * kStagesK + 2 * kStagesV];
  __shared__ float exchange[2][2][kRows];
  Shared s;
  s.q = (shared_address(dynamicShared) + 1023) & ~1023u;
  s.k = s.q + kTileBytes;
  s.v = s.k + kTileBytes;
  s.p = s.v + kTileBytes;
  s.partial = s.p + 2 * kSliceBytes;
  s.qFull = shared_address(barriers);
  s.kFull = s.qFull + 8;
  s.kEmpty = s.kFull + 8 * kStagesK;
  s.vFull = s.kEmpty + 8 * kStagesK;
  s.vEmpty = s.vFull + 8 * kStagesV;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(s.qFull, 1);
    for (int i = 0; i < kStagesK; ++i) {
      ptx::mbarrier_init(s.kFull + 8 * i, 1);
      ptx::mbarrier_init(s.kEmpty + 8 * i, 8);  // one warpgroup of two blocks
    }
    for (int i = 0; i < kStagesV; ++i) {
      ptx::mbarrier_init(s.vFull + 8 * i, 1);
      ptx::mbarrier_init(s.vEmpty + 8 * i, 16);  // both warpgroups
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const int rank = static_cast<int>(ptx::cluster_block_rank());
  // numQTiles is even: a block beyond the rows still loads its half of the keys.
  const int row0 = static_cast<int>(blockIdx.x) % p.numQTiles * kRows, rest = static_cast<int>(blockIdx.x) / p.numQTiles;
  const int head = rest % p.heads, frame = rest / p.heads, keyFrame = p.keyFrames == p.frames ? frame : frame / p.frames;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 2) {
    ptx::registers_lower<40>();
    if (threadIdx.x == 256) produce(p, s, rank, row0, head, frame, keyFrame);
  } else {
    ptx::registers_raise<232>();
    consume<T>(p, s, exchange, warpgroup, row0, head, frame);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

}  // namespace

VD_KERNEL(attention_sm90_f16_d512, AttentionSm90Params, kThreads, 1, attention_d512<__half>)
VD_KERNEL(attention_sm90_bf16_d512, AttentionSm90Params, kThreads, 1, attention_d512<__nv_bfloat16>)
