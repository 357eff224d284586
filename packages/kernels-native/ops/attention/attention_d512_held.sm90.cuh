// attention on Hopper, head dim 512, all keys (the VAE's single head), queries held in registers: o = softmax(scale · q · kᵀ) · v.
//
// Plan: a block takes 64 query rows. Each of its two consumer warpgroups has 256 channels: of the outputs in 128 registers, and most of Q
// as fragments in registers, the rest in shared memory. So there is room for several tiles of 32 keys, and neither waits. Both warpgroups
// send each other their sums over half the channels and then have all scores of all rows: they find the same maxima and probabilities,
// which stay in registers for the products with V, and meet once a tile. Two blocks of a cluster take neighbouring rows and each multicasts
// the half of every tile's channels to both.
//
//   producer: kEmpty ─► half the channels of K(j) to both ─► kFull;  likewise V
//   consumers, tile j: S = Q·K(j)ᵀ | O += P(j-1)·V(j-1) | wait S, release K(j) and V(j-2) | exchange (barrier), P(j)
//
// P has registers for two tiles, so that O's products of a tile are only waited for behind the next scores, or where O must be multiplied.
//
// What registers hold of Q comes through the places of V.
#pragma once
#include "attention_d512.sm90.cuh"

namespace vd::device::d512_held {

using d512::AllKeys;
using d512::kRows;
using d512::kSlices;
using d512::kThreads;

constexpr int kKeys = kAttentionHeldKeys, kStagesK = kAttentionHeldStagesK, kStagesV = kAttentionHeldStagesV;
constexpr int kSliceBytes = kKeys * 128, kTileBytes = kSlices * kSliceBytes;
constexpr int kPartialBytes = kRows * kKeys * 4;  // sums of a warpgroup
constexpr int kOwn = kSlices / 2, kHeld = kAttentionHeldSlices;  // slices of 64 channels of a warpgroup, and those in registers
static_assert(2 * kHeld * d512::kSliceBytes <= kStagesV * kTileBytes, "V's places hold what comes to registers");

struct Shared {
  uint32_t q, k, v, partial, qFull, kFull, kEmpty, vFull, vEmpty;
  /** Slice `i` of a warpgroup's channels of Q: in its place, or where V comes later. */
  __device__ __forceinline__ uint32_t queries(int group, int i) const {
    return i < kHeld ? v + (group * kHeld + i) * d512::kSliceBytes : q + (group * (kOwn - kHeld) + i - kHeld) * d512::kSliceBytes;
  }
};
inline constexpr int kBarriers = 1 + 2 * kStagesK + 2 * kStagesV;

/** A place in a ring, of tile after tile. */
template <int kStages> struct Turn {
  int stage = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/** This block's half of the channels of a tile, to both blocks. */
__device__ __forceinline__ void load_tile(const AllKeys& keys, const TensorMap& map, uint32_t tile, uint32_t full, int rank, int key) {
  ptx::mbarrier_arrive_expect_tx(full, kTileBytes);
#pragma unroll 1
  for (int slice = rank * kOwn; slice < (rank + 1) * kOwn; ++slice) keys.load_keys(tile + slice * kSliceBytes, map, full, slice, key);
}

__device__ __forceinline__ void produce(const AllKeys& keys, const Shared& s, int rank, int numTiles) {
  ptx::mbarrier_arrive_expect_tx(s.qFull, kSlices * d512::kSliceBytes);
#pragma unroll 1
  for (int i = 0; i < kSlices; ++i) keys.load_queries(s.queries(i / kOwn, i % kOwn), s.qFull, i);
  Turn<kStagesK> k;
  Turn<kStagesV> v;
  // K is a tile ahead, so that the second scores do not wait for V.
#pragma unroll 1
  for (int j = 0; j <= numTiles; ++j) {
    if (j < numTiles) {
      ptx::mbarrier_wait(s.kEmpty + 8 * k.stage, k.parity ^ 1);
      load_tile(keys, keys.p.k, s.k + k.stage * kTileBytes, s.kFull + 8 * k.stage, rank, j * kKeys);
      k.advance();
    }
    if (j > 0) {
      // The first release is that of Q.
      ptx::mbarrier_wait(s.vEmpty + 8 * v.stage, v.parity);
      load_tile(keys, keys.p.v, s.v + v.stage * kTileBytes, s.vFull + 8 * v.stage, rank, (j - 1) * kKeys);
      v.advance();
    }
  }
}

/** This warp's rows of the slices that registers hold, as fragments of 16 channels. */
__device__ __forceinline__ void load_fragments(uint32_t (&queries)[4 * kHeld][4], const Shared& s, int group) {
  const int lane = threadIdx.x & 31, row = threadIdx.x % 128 / 32 * 16 + (lane & 15);
#pragma unroll
  for (int i = 0; i < 4 * kHeld; ++i) {
    const int chunk = i % 4 * 2 + (lane >> 4);
    ptx::ldmatrix_x4(queries[i], s.queries(group, i / 4) + row * 128 + ((chunk ^ (row & 7)) << 4));
  }
}

/** Issues scores[64, 32] over this warpgroup's channels. */
template <class T>
__device__ __forceinline__ void issue_scores(float (&scores)[16], const uint32_t (&queries)[4 * kHeld][4], const Shared& s,
                                             const Turn<kStagesK>& at, int group) {
  ptx::mbarrier_wait(s.kFull + 8 * at.stage, at.parity);
  const uint64_t a = ptx::matrix_descriptor(s.queries(group, kHeld));
  const uint64_t b = ptx::matrix_descriptor(s.k + at.stage * kTileBytes + group * kOwn * kSliceBytes);
  ptx::wgmma_fence();
#pragma unroll
  for (int i = kHeld; i < kOwn; ++i)
#pragma unroll
    for (int step = 0; step < 4; ++step)
      ptx::Wgmma<T, kKeys, 0>::run(scores, a + ((i - kHeld) * d512::kSliceBytes >> 4) + 2 * step, b + (i * kSliceBytes >> 4) + 2 * step,
                                   i > kHeld || step > 0);
#pragma unroll
  for (int i = 0; i < 4 * kHeld; ++i)
    ptx::WgmmaRegisters<T, kKeys, 0>::run(scores, queries[i], b + (i / 4 * kSliceBytes >> 4) + i % 4 * 2, kHeld < kOwn || i > 0);
  ptx::wgmma_commit();
}

/** Issues O[64, 256] += P · V for this warpgroup's channels; V's rows are keys, so it is read transposed. */
template <class T>
__device__ __forceinline__ void issue_values(float (&out)[128], const uint32_t (&probabilities)[2][4], const Shared& s,
                                             const Turn<kStagesV>& at, int group, bool accumulate) {
  ptx::mbarrier_wait(s.vFull + 8 * at.stage, at.parity);
  const uint64_t b = ptx::matrix_descriptor(s.v + at.stage * kTileBytes + group * kOwn * kSliceBytes, kSliceBytes);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 2; ++step)
    ptx::WgmmaRegisters<T, 256, 1>::run(out, probabilities[step], b + (step * 16 * 128 >> 4), accumulate || step > 0);
  ptx::wgmma_commit();
}

/** Adds the other warpgroup's sums. Those of the tile before the last may be overwritten: whoever arrives here has read them. */
__device__ __forceinline__ void exchange(float (&scores)[16], const Shared& s, int group, int buffer) {
  const uint32_t place = s.partial + buffer * 2 * kPartialBytes + threadIdx.x % 128 * 16;
  const uint32_t mine = place + group * kPartialBytes, other = place + (group ^ 1) * kPartialBytes;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    ptx::store_shared16(mine + i * 2048, make_uint4(__float_as_uint(scores[4 * i]), __float_as_uint(scores[4 * i + 1]),
                                                    __float_as_uint(scores[4 * i + 2]), __float_as_uint(scores[4 * i + 3])));
  ptx::named_barrier(1, 256);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint4 v = ptx::load_shared16(other + i * 2048);
    scores[4 * i] += __uint_as_float(v.x);
    scores[4 * i + 1] += __uint_as_float(v.y);
    scores[4 * i + 2] += __uint_as_float(v.z);
    scores[4 * i + 3] += __uint_as_float(v.w);
  }
}

/** Scores become powers. Returns whether older outputs must be multiplied with `factors`. */
__device__ __forceinline__ bool soften(const AllKeys& keys, d512::Softmax& state, float (&scores)[16], int key0, float (&factors)[2]) {
  if (key0 + kKeys > keys.p.seqK) {
    const int first = key0 + 2 * (threadIdx.x & 3);
#pragma unroll
    for (int i = 0; i < 16; ++i)
      if (first + i / 4 * 8 + (i & 1) >= keys.p.seqK) scores[i] = -INFINITY;
  }
  float best[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    best[r] = scores[2 * r];
#pragma unroll
    for (int n = 0; n < 4; ++n) best[r] = fmaxf(best[r], fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
  }
  const float unit = keys.unit();
  const bool raised = raise_maxima(state.max, best, unit, factors);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float offset = state.max[r] * unit;
    float sum = state.sum[r] * factors[r];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& v = scores[i / 2 * 4 + 2 * r + i % 2];
      v = ptx::exp2_approx(fmaf(v, unit, -offset));
      sum += v;
    }
    state.sum[r] = sum;
  }
  return raised;
}

/** Powers as fragments of P, 16 keys each. */
template <class T> __device__ __forceinline__ void pack_powers(uint32_t (&probabilities)[2][4], const float (&scores)[16]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) probabilities[i / 4][i % 4] = pack2<T>(scores[2 * i], scores[2 * i + 1]);
}

/** A consumer's registers. */
struct Consumer {
  float out[128], scores[16];
  uint32_t queries[4 * kHeld][4];
  d512::Softmax state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  Turn<kStagesK> k;
  Turn<kStagesV> v;  // of the tile before
};

/** Tile j, from the second one on. before: P of the tile before; now: its own. */
template <class T>
__device__ __forceinline__ void take_tile(const AllKeys& keys, Consumer& c, const Shared& s, int group, int j,
                                          const uint32_t (&before)[2][4], uint32_t (&now)[2][4]) {
  issue_scores<T>(c.scores, c.queries, s, c.k, group);
  issue_values<T>(c.out, before, s, c.v, group, j > 1);
  ptx::wgmma_wait<1>();  // the scores are there, and the products of P(j - 2)
  release_stage<2>(s.kEmpty + 8 * c.k.stage);
  if (j > 1) release_stage<2>(s.vEmpty + 8 * (c.v.stage == 0 ? kStagesV - 1 : c.v.stage - 1));
  exchange(c.scores, s, group, j & 1);
  float factors[2];
  if (soften(keys, c.state, c.scores, j * kKeys, factors)) {
    ptx::wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < 128; ++i) c.out[i] *= factors[i >> 1 & 1];
  }
  pack_powers<T>(now, c.scores);
  c.k.advance();
  c.v.advance();
}

template <class T> __device__ __forceinline__ void consume(const AllKeys& keys, const Shared& s, int group, int numTiles) {
  Consumer c;
  uint32_t even[2][4], odd[2][4];  // P of tiles
  float factors[2];
  ptx::mbarrier_wait(s.qFull, 0);
  load_fragments(c.queries, s, group);
  issue_scores<T>(c.scores, c.queries, s, c.k, group);
  ptx::wgmma_wait<0>();
  release_stage<2>(s.kEmpty);
  for (int stage = 0; stage < kStagesV; ++stage) release_stage<2>(s.vEmpty + 8 * stage);  // Q is in registers
  exchange(c.scores, s, group, 0);
  soften(keys, c.state, c.scores, 0, factors);
  pack_powers<T>(even, c.scores);
  c.k.advance();
  int j = 1;
#pragma unroll 1
  for (; j + 1 < numTiles; j += 2) {
    take_tile<T>(keys, c, s, group, j, even, odd);
    take_tile<T>(keys, c, s, group, j + 1, odd, even);
  }
  if (j < numTiles) {
    take_tile<T>(keys, c, s, group, j, even, odd);
    issue_values<T>(c.out, odd, s, c.v, group, true);
  } else {
    issue_values<T>(c.out, even, s, c.v, group, numTiles > 1);
  }
  ptx::wgmma_wait<0>();
  const int local = threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4;
  float inverse[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = c.state.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    inverse[r] = ptx::reciprocal_approx(sum);
    const int row = keys.row0 + local + 8 * r;
    if (d512::has_lse(keys) && (threadIdx.x & 3) == 0 && group == 0 && row < d512::row_end(keys))
      d512::store_row_lse(keys, row, c.state.max[r] * keys.unit(), sum);
  }
  d512::store_output<T>(keys, c.out, inverse, keys.row0 + local, group);
}

/** Sets up shared memory and starts the cluster. */
__device__ __forceinline__ Shared begin(uint8_t* dynamicShared, uint64_t* barriers) {
  Shared s;
  s.q = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  s.k = s.q + 2 * (kOwn - kHeld) * d512::kSliceBytes;
  s.v = s.k + kStagesK * kTileBytes;
  s.partial = s.v + kStagesV * kTileBytes;
  s.qFull = shared_address(barriers);
  s.kFull = s.qFull + 8;
  s.kEmpty = s.kFull + 8 * kStagesK;
  s.vFull = s.kEmpty + 8 * kStagesK;
  s.vEmpty = s.vFull + 8 * kStagesV;
  if (threadIdx.x == 0) {
    constexpr int kReaders = 16;  // eight warps of two blocks
    ptx::mbarrier_init(s.qFull, 1);
    for (int i = 0; i < kStagesK; ++i) {
      ptx::mbarrier_init(s.kFull + 8 * i, 1);
      ptx::mbarrier_init(s.kEmpty + 8 * i, kReaders);
    }
    for (int i = 0; i < kStagesV; ++i) {
      ptx::mbarrier_init(s.vFull + 8 * i, 1);
      ptx::mbarrier_init(s.vEmpty + 8 * i, kReaders);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  return s;
}

template <class T> __device__ __forceinline__ void attention_held(const AttentionSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) uint64_t barriers[kBarriers];
  const Shared s = begin(dynamicShared, barriers);
  // numQTiles is even: a block beyond the rows still loads its half of the keys.
  const int row0 = static_cast<int>(blockIdx.x) % p.numQTiles * kRows, rest = static_cast<int>(blockIdx.x) / p.numQTiles;
  const int head = rest % p.heads, frame = rest / p.heads, keyFrame = p.keyFrames == p.frames ? frame : frame / p.frames;
  const AllKeys keys{p, row0, head, frame, keyFrame};
  const int warpgroup = ptx::warpgroup_index(), numTiles = (p.seqK + kKeys - 1) / kKeys;
  if (warpgroup == 2) {
    ptx::registers_lower<24>();
    if (threadIdx.x == 256) produce(keys, s, static_cast<int>(ptx::cluster_block_rank()), numTiles);
  } else {
    ptx::registers_raise<240>();
    consume<T>(keys, s, warpgroup, numTiles);
  }
  // A block may not leave while the other still signals its barriers or writes its stages.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

}  // namespace vd::device::d512_held
