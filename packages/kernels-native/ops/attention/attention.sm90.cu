// attention on Hopper, head dim 64, no mask: o = softmax(scale · q · kᵀ) · v.
//
// Plan: persistent blocks of one producer and three consumer warpgroups; a tile is 192 query rows of one head, 64 to a
// warpgroup. K and V come in blocks of 128 keys through two rings filled by the copy engine. Scores of block j + 1 are
// issued before the probabilities of block j are multiplied with V, so that the softmax overlaps both products.
//
//   producer                       consumers
//   qEmpty ─► load Q ─► qFull      S(0) = Q·K(0)ᵀ, softmax
//   kEmpty ─► load K ─► kFull      for j = 1..: issue S(j), issue O += P(j-1)·V(j-1), softmax(S(j)), rescale O
//   vEmpty ─► load V ─► vFull      O += P(last)·V(last), divide, store
//
// Log (H200, f16): v1 b50 h5 s9216 9.6 to 11.3 ms over five runs (482 to 565 TFLOP/s), b50 h10 s2304 1.29 to 1.31 ms,
// b50 h20 s576 222 to 226 us, b50 h20 s144 45.3 to 45.8 us.
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/mbarrier.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/ptx/registers.cuh"
#include "../../device/ptx/tma.cuh"
#include "../../device/ptx/wgmma.cuh"
#include "attention_params.h"

using namespace vd::device;

namespace {

constexpr int kBlockM = 192, kBlockN = 128, kStages = 4, kConsumers = 3;
constexpr int kQBytes = kBlockM * 128, kTileBytes = kBlockN * 128;
constexpr int kThreads = 512;

__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

struct Shared {
  uint32_t q, k, v, qFull, qEmpty, kFull, kEmpty, vFull, vEmpty;
};

struct Cursor {
  int stage = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void next() {
    if (++stage == kStages) { stage = 0; parity ^= 1; }
  }
};

struct TileIndex {
  int q, head, frame, keyFrame;  // first query row; frames counted over batches
};
__device__ __forceinline__ TileIndex tile_index(const AttentionSm90Params& p, int tile) {
  TileIndex t;
  t.q = tile % p.numQTiles * kBlockM;
  const int rest = tile / p.numQTiles;
  t.head = rest % p.heads;
  t.frame = rest / p.heads;
  t.keyFrame = p.keyFrames == p.frames ? t.frame : t.frame / p.frames;
  return t;
}

__device__ __forceinline__ void produce(const AttentionSm90Params& p, const Shared& s) {
  Cursor cursor;
  uint32_t qParity = 1;
  const int numBlocks = (p.seqK + kBlockN - 1) / kBlockN;
  for (int tile = blockIdx.x; tile < p.numTiles; tile += gridDim.x) {
    const TileIndex t = tile_index(p, tile);
    ptx::mbarrier_wait(s.qEmpty, qParity);
    qParity ^= 1;
    ptx::mbarrier_arrive_expect_tx(s.qFull, kQBytes);
    ptx::tma_load_4d(s.q, &p.q, s.qFull, t.head * 64, t.q, t.frame, 0);
    for (int j = 0; j < numBlocks; ++j) {
      ptx::mbarrier_wait(s.kEmpty + 8 * cursor.stage, cursor.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(s.kFull + 8 * cursor.stage, kTileBytes);
      ptx::tma_load_4d(s.k + cursor.stage * kTileBytes, &p.k, s.kFull + 8 * cursor.stage, t.head * 64, j * kBlockN, t.keyFrame, 0);
      ptx::mbarrier_wait(s.vEmpty + 8 * cursor.stage, cursor.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(s.vFull + 8 * cursor.stage, kTileBytes);
      ptx::tma_load_4d(s.v + cursor.stage * kTileBytes, &p.v, s.vFull + 8 * cursor.stage, t.head * 64, j * kBlockN, t.keyFrame, 0);
      cursor.next();
    }
  }
}

/** Releases a stage: one arrival per warp. */
__device__ __forceinline__ void release(uint32_t barrier) {
  if ((threadIdx.x & 31) == 0) ptx::mbarrier_arrive(barrier);
}

/** Issues scores[64, 128] = Q · Kᵀ for this warpgroup. */
template <class T> __device__ __forceinline__ void issue_scores(float (&scores)[64], uint32_t q, uint32_t k) {
  const uint64_t a = descriptor(q), b = descriptor(k);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) ptx::Wgmma<T, 128, 0>::run(scores, a + 2 * step, b + 2 * step, step > 0);
  ptx::wgmma_commit();
}

/** Issues O[64, 64] += P · V; V's rows are keys, so it is read transposed. */
template <class T>
__device__ __forceinline__ void issue_values(float (&out)[32], const uint32_t (&p)[8][4], uint32_t v, bool accumulate) {
  const uint64_t b = descriptor(v);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 8; ++step)
    ptx::WgmmaRegisters<T, 64, 1>::run(out, p[step], b + (step * 16 * 128 >> 4), accumulate || step > 0);
  ptx::wgmma_commit();
}

/** Running maximum and sum of this thread's two rows; sums are of this thread's columns only. */
struct Softmax {
  float max[2], sum[2];
};

/** scores → exp2(scale · score - scale · max); returns what older sums and outputs must be multiplied with. */
template <bool kFirst>
__device__ __forceinline__ float2 soften(Softmax& state, float (&scores)[64], float scale, int valid) {
  const int column = 2 * (threadIdx.x & 3);
  if (valid < kBlockN) {
#pragma unroll
    for (int i = 0; i < 64; ++i)
      if (i / 4 * 8 + column + (i & 1) >= valid) scores[i] = -INFINITY;
  }
  float factor[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float best = scores[2 * r];
#pragma unroll
    for (int i = 0; i < 16; ++i) best = fmaxf(best, fmaxf(scores[4 * i + 2 * r], scores[4 * i + 2 * r + 1]));
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
    if (!kFirst) best = fmaxf(best, state.max[r]);
    factor[r] = kFirst ? 0.0f : ptx::exp2_approx((state.max[r] - best) * scale);
    state.max[r] = best;
    const float offset = best * scale;
    float sum = kFirst ? 0.0f : state.sum[r] * factor[r];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float& a = scores[4 * i + 2 * r];
      float& b = scores[4 * i + 2 * r + 1];
      a = ptx::exp2_approx(fmaf(a, scale, -offset));
      b = ptx::exp2_approx(fmaf(b, scale, -offset));
      sum += a + b;
    }
    state.sum[r] = sum;
  }
  return make_float2(factor[0], factor[1]);
}

/** Probabilities as the A operand of eight products of depth 16. */
template <class T> __device__ __forceinline__ void pack_probabilities(uint32_t (&p)[8][4], const float (&scores)[64]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) p[i / 4][i % 4] = pack2<T>(scores[2 * i], scores[2 * i + 1]);
}

template <class T>
__device__ __forceinline__ void store_tile(const AttentionSm90Params& p, const TileIndex& t, Softmax state, float (&out)[32], int rowInTile) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const float inverse = 1.0f / sum;
    const int row = t.q + rowInTile + 8 * r;
    T* y = static_cast<T*>(p.y) + (static_cast<int64_t>(t.frame) * p.seqQ + row) * p.yPitch + t.head * 64;
#pragma unroll
    for (int group = 0; group < 2; ++group) {
      float2 v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* o = out + (group * 4 + i) * 4 + 2 * r;
        v[i] = make_float2(o[0] * inverse, o[1] * inverse);
      }
      transpose_quad(v, lane);
      const float eight[8] = {v[0].x, v[0].y, v[1].x, v[1].y, v[2].x, v[2].y, v[3].x, v[3].y};
      if (row < p.seqQ) store8(y + group * 32 + lane * 8, eight);
    }
    if (p.lse && lane == 0 && row < p.seqQ)
      p.lse[(static_cast<int64_t>(t.frame) * p.heads + t.head) * p.seqQ + row] = (state.max[r] * p.scale + log2f(sum)) * 0.69314718055994531f;
  }
}

template <class T> __device__ __forceinline__ void consume(const AttentionSm90Params& p, const Shared& s, int group) {
  Cursor k, v;
  uint32_t qParity = 0;
  const int numBlocks = (p.seqK + kBlockN - 1) / kBlockN;
  const uint32_t q = s.q + group * 64 * 128;
  const int rowInTile = group * 64 + threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4;
  for (int tile = blockIdx.x; tile < p.numTiles; tile += gridDim.x) {
    float scores[64], out[32];
    uint32_t probabilities[8][4];
    Softmax state;
    ptx::mbarrier_wait(s.qFull, qParity);
    qParity ^= 1;
    ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    issue_scores<T>(scores, q, s.k + k.stage * kTileBytes);
    ptx::wgmma_wait<0>();
    release(s.kEmpty + 8 * k.stage);
    k.next();
    soften<true>(state, scores, p.scale, p.seqK);
    pack_probabilities<T>(probabilities, scores);
    for (int j = 1; j < numBlocks; ++j) {
      ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
      issue_scores<T>(scores, q, s.k + k.stage * kTileBytes);
      ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
      issue_values<T>(out, probabilities, s.v + v.stage * kTileBytes, j > 1);
      ptx::wgmma_wait<1>();
      release(s.kEmpty + 8 * k.stage);
      k.next();
      const float2 factor = soften<false>(state, scores, p.scale, p.seqK - j * kBlockN);
      ptx::wgmma_wait<0>();
      release(s.vEmpty + 8 * v.stage);
      v.next();
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        out[4 * i] *= factor.x;
        out[4 * i + 1] *= factor.x;
        out[4 * i + 2] *= factor.y;
        out[4 * i + 3] *= factor.y;
      }
      pack_probabilities<T>(probabilities, scores);
    }
    release(s.qEmpty);
    ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
    issue_values<T>(out, probabilities, s.v + v.stage * kTileBytes, numBlocks > 1);
    ptx::wgmma_wait<0>();
    release(s.vEmpty + 8 * v.stage);
    v.next();
    store_tile<T>(p, tile_index(p, tile), state, out, rowInTile);
  }
}

template <class T> __device__ __forceinline__ void attention_d64(const AttentionSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) uint64_t barriers[2 + 4 * kStages];
  Shared s;
  s.q = (shared_address(dynamicShared) + 1023) & ~1023u;
  s.k = s.q + kQBytes;
  s.v = s.k + kStages * kTileBytes;
  s.qFull = shared_address(barriers);
  s.qEmpty = s.qFull + 8;
  s.kFull = s.qFull + 16;
  s.kEmpty = s.kFull + 8 * kStages;
  s.vFull = s.kEmpty + 8 * kStages;
  s.vEmpty = s.vFull + 8 * kStages;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(s.qFull, 1);
    ptx::mbarrier_init(s.qEmpty, kConsumers * 4);
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(s.kFull + 8 * i, 1);
      ptx::mbarrier_init(s.vFull + 8 * i, 1);
      ptx::mbarrier_init(s.kEmpty + 8 * i, kConsumers * 4);
      ptx::mbarrier_init(s.vEmpty + 8 * i, kConsumers * 4);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == kConsumers) {
    ptx::registers_lower<24>();
    if (threadIdx.x == kConsumers * 128) produce(p, s);
  } else {
    ptx::registers_raise<160>();
    consume<T>(p, s, warpgroup);
  }
}

}  // namespace

VD_KERNEL(attention_sm90_f16_d64, AttentionSm90Params, kThreads, 1, attention_d64<__half>)
#ifndef VD_F16_ONLY
VD_KERNEL(attention_sm90_bf16_d64, AttentionSm90Params, kThreads, 1, attention_d64<__nv_bfloat16>)
#endif
