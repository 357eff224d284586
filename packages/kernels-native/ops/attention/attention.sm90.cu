// attention on Hopper, heads of up to 64 channels, no mask: o = softmax(scale · q · kᵀ) · v. Channels behind a head's are zeros in shared
// memory; of smaller heads the products with q end before them.
//
// Plan: persistent blocks of one producer and three consumer warpgroups; a tile is 192 query rows of one head, 64 to a
// warpgroup. K and V come in blocks of 128 keys through two rings filled by the copy engine. Scores of block j + 1 are
// issued before the probabilities of block j are multiplied with V, so that the softmax overlaps both products. V has eight
// more columns, of ones: their products are the sums of the probabilities. Scores are taken relative to the largest of a row's first
// block, and none is compared with it on the way: sums tell at the end whether one was too large, and such tiles come again, with every
// block looked at (attention_maxima.cuh, attention_tiles.sm90.cuh). A warp that has met one looks at every block from there on.
//
//   producer                       consumers
//   qEmpty ─► load Q ─► qFull      S(0) = Q·K(0)ᵀ, softmax
//   kEmpty ─► load K ─► kFull      for j = 1..: issue S(j), issue O += P(j-1)·V(j-1), softmax(S(j)), rescale O
//   vEmpty ─► load V ─► vFull      O += P(last)·V(last), divide, store
//   allMissed ─► tiles again
//
// What counts is energy: at the power limit a block takes 700 W whatever the version. What lost or changed nothing, and figures of every
// version: docs/kernels/attention.md.
#include "../../device/epilogue.cuh"
#include "../../device/ptx/matrix_descriptor.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/ptx/registers.cuh"
#include "../../device/ptx/uniform.cuh"
#include "../../device/ptx/wgmma.cuh"
#include "attention_maxima.cuh"
#include "attention_params.h"
#include "attention_tiles.sm90.cuh"

using namespace vd::device;

namespace {

constexpr int kBlockN = 128, kStages = 4;
using Tiles = AttentionTiles<192, kBlockN, kStages>;
constexpr int kConsumers = Tiles::kConsumers, kTileBytes = Tiles::kTileBytes;
constexpr int kThreads = 512;
/** Accumulators of 64 channels and of eight columns of ones. */
constexpr int kOutputs = 36;

/** Issues scores[64, 128] = Q · Kᵀ for this warpgroup. */
template <class T, int kDim> __device__ __forceinline__ void issue_scores(float (&scores)[64], uint32_t q, uint32_t k) {
  const uint64_t a = ptx::matrix_descriptor(q), b = ptx::matrix_descriptor(k);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) ptx::Wgmma<T, 128, 0>::run(scores, a + 2 * step, b + 2 * step, step > 0);
  ptx::wgmma_commit();
}

/** Issues O[64, 72] += P · [V | 1]; V's rows are keys, so it is read transposed. */
template <class T>
__device__ __forceinline__ void issue_values(float (&out)[kOutputs], const uint32_t (&p)[8][4], uint32_t v, uint32_t ones,
                                             bool accumulate) {
  const uint64_t b = ptx::matrix_descriptor(v, ones - v);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 8; ++step) ptx::WgmmaRegisters<T, 72, 1>::run(out, p[step], b + (step * 16 * 128 >> 4), accumulate || step > 0);
  ptx::wgmma_commit();
}

/** The largest scores of each of this thread's two rows among its own keys. */
__device__ __forceinline__ void largest(const float (&scores)[64], float (&best)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const auto pair = [&](int i) { return fmaxf(scores[4 * i + 2 * r], scores[4 * i + 2 * r + 1]); };
    float even = pair(0), odd = pair(1);
#pragma unroll
    for (int i = 2; i < 16; i += 2) {
      even = fmaxf(even, pair(i));
      odd = fmaxf(odd, pair(i + 1));
    }
    best[r] = fmaxf(even, odd);
  }
}

/** Scores of keys that there are not, in the last block. */
__device__ __forceinline__ void mask_scores(float (&scores)[64], int valid) {
  const int column = 2 * (threadIdx.x & 3);
  if (valid >= kBlockN) return;
#pragma unroll
  for (int i = 0; i < 64; ++i)
    if (i / 4 * 8 + column + (i & 1) >= valid) scores[i] = -INFINITY;
}

/** scores → exp2(scale · score - scale · maximum), those from kFrom to before kTo. */
template <int kFrom, int kTo> __device__ __forceinline__ void soften(const float (&maxima)[2], float (&scores)[64], float scale) {
#pragma unroll
  for (int i = kFrom; i < kTo; ++i) scores[i] = ptx::exp2_approx(fmaf(scores[i], scale, -(maxima[i >> 1 & 1] * scale)));
}

/** The same of all, in four parts behind conditions that always hold: powers of one part begin before the products of the next. Without
 *  them ptxas has the 64 products stand in front of the first power. */
__device__ __forceinline__ void soften_in_parts(const AttentionSm90Params& p, const float (&maxima)[2], float (&scores)[64]) {
  if (p.numTiles > 0) soften<0, 16>(maxima, scores, p.scale);
  if (p.seqK > 0) soften<16, 32>(maxima, scores, p.scale);
  if (p.heads > 0) soften<32, 48>(maxima, scores, p.scale);
  if (p.frames > 0) soften<48, 64>(maxima, scores, p.scale);
}

/** Probabilities as the A operand of eight products of depth 16. */
template <class T> __device__ __forceinline__ void pack_probabilities(uint32_t (&p)[8][4], const float (&scores)[64]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) p[i / 4][i % 4] = pack2<T>(scores[2 * i], scores[2 * i + 1]);
}

template <class T>
__device__ __forceinline__ void store_tile(const AttentionSm90Params& p, const AttentionTile& t, const float (&maxima)[2],
                                           float (&out)[kOutputs], int rowInTile) {
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float sum = out[32 + 2 * r];
    const float inverse = ptx::reciprocal_approx(sum);
    const int row = t.q + rowInTile + 8 * r;
    T* y = static_cast<T*>(p.y) + (static_cast<int64_t>(t.frame) * p.seqQ + row) * p.yPitch + t.head * p.dim;
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
      if (row < p.seqQ && group * 32 + lane * 8 < p.dim) store8(y + group * 32 + lane * 8, eight);
    }
    if (p.lse && lane == 0 && row < p.seqQ)
      p.lse[(static_cast<int64_t>(t.frame) * p.heads + t.head) * p.seqQ + row] = (maxima[r] * p.scale + log2f(sum)) * kLn2;
  }
}

template <class T, int kDim>
__device__ __forceinline__ void consume(const AttentionSm90Params& p, const AttentionShared& s, AttentionSignals<Tiles>& signals,
                                        int group) {
  RingCursor<kStages> k, v;
  uint32_t qParity = 0;
  const int numBlocks = (p.seqK + kBlockN - 1) / kBlockN;
  const uint32_t q = s.q + group * 64 * 128;
  const int rowInTile = group * 64 + threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4;
  int missed = -1;  // the first tile in which scores of this warp's rows were too large
  AttentionTurns<Tiles> turns;
  for (; turns.more(p, s, signals, [&] { attention_tell_missed<Tiles>(s, signals, missed); }); turns.advance()) {
    const AttentionTile tile = attention_tile<Tiles>(p, turns.tile);
    const bool looks = missed >= 0 || turns.repeats >= 0;
    float scores[64], out[kOutputs];
    uint32_t probabilities[8][4];
    int keys = attention_first_keys<Tiles>(tile, numBlocks);
    ptx::mbarrier_wait(s.qFull, qParity);
    qParity ^= 1;
    ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    issue_scores<T, kDim>(scores, q, s.k + k.stage * kTileBytes);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.kEmpty + 8 * k.stage);
    k.advance();
    mask_scores(scores, p.seqK - keys * kBlockN);
    float maxima[2];
    largest(scores, maxima);
    largest_of_quad(maxima);
    soften<0, 64>(maxima, scores, p.scale);
    pack_probabilities<T>(probabilities, scores);
    if (numBlocks > 1) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    for (int j = 1; j < numBlocks; ++j) {
      issue_scores<T, kDim>(scores, q, s.k + k.stage * kTileBytes);
      ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
      issue_values<T>(out, probabilities, s.v + v.stage * kTileBytes, s.rest, j > 1);
      keys = attention_next_keys(keys, numBlocks);
      ptx::wgmma_wait<1>();
      release_stage<1>(s.kEmpty + 8 * k.stage);
      k.advance();
      mask_scores(scores, p.seqK - keys * kBlockN);
      float factors[2];
      bool raised = false;
      if (looks) {
        float best[2];
        largest(scores, best);
        raised = raise_maxima(maxima, best, p.scale, factors);
      }
      soften_in_parts(p, maxima, scores);
      if (j + 1 < numBlocks) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
      ptx::wgmma_wait<0>();
      release_stage<1>(s.vEmpty + 8 * v.stage);
      v.advance();
      if (raised) {
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) out[i] *= factors[i >> 1 & 1];
      }
      pack_probabilities<T>(probabilities, scores);
    }
    release_stage<1>(s.qEmpty);
    ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
    issue_values<T>(out, probabilities, s.v + v.stage * kTileBytes, s.rest, numBlocks > 1);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.vEmpty + 8 * v.stage);
    v.advance();
    const bool wasTooLarge = !within_slack(out[32]) || !within_slack(out[34]);
    if (!looks && __any_sync(0xffffffffu, wasTooLarge)) missed = turns.tile;
    store_tile<T>(p, tile, maxima, out, rowInTile);
  }
}

/** Fills a tile with ones, as operands of the products. By all threads. */
template <class T> __device__ __forceinline__ void fill_ones(uint32_t tile) {
  const uint32_t two = pack2<T>(1.0f, 1.0f);
  for (int at = threadIdx.x * 16; at < kTileBytes; at += kThreads * 16) ptx::store_shared16(tile + at, make_uint4(two, two, two, two));
  ptx::fence_proxy_async();
}

template <class T, int kDim> __device__ __forceinline__ void attention_small_heads(const AttentionSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) AttentionSignals<Tiles> signals;
  const AttentionShared s = attention_shared<Tiles>(dynamicShared, signals);
  fill_ones<T>(s.rest);
  __syncthreads();
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == kConsumers) {
    ptx::registers_lower<24>();
    if (threadIdx.x == kConsumers * 128) attention_produce<Tiles>(p, s, signals);
  } else {
    ptx::registers_raise<160>();
    consume<T, kDim>(p, s, signals, warpgroup);
  }
}

}  // namespace

#define VD_SMALL_HEADS(type, name, dim) \
  VD_KERNEL_OVERLAPPED(attention_sm90_##name##_d##dim, AttentionSm90Params, kThreads, 1, attention_small_heads<type, dim>)
#define VD_SMALL_HEADS_ALL(type, name) \
  VD_SMALL_HEADS(type, name, 16)       \
  VD_SMALL_HEADS(type, name, 32)       \
  VD_SMALL_HEADS(type, name, 48)       \
  VD_SMALL_HEADS(type, name, 64)

VD_SMALL_HEADS_ALL(__half, f16)
VD_SMALL_HEADS_ALL(__nv_bfloat16, bf16)
