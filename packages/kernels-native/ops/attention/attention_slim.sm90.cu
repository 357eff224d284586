// attention on Hopper, heads of up to 48 channels and many keys, no mask: o = softmax(scale · q · kᵀ) · v. Channels behind a head's are
// zeros in shared memory; the products end before them.
//
// The slimmer the head, the more of the time is powers: of 64 rows and keys 256 cycles of the special functions' unit, where heads of 40
// take 176 of the tensor cores. So there are four warpgroups whose powers and products run beside each other, as many as there are
// registers for with tiles of 64 keys.
//
// Plan: persistent blocks of one producer and four consumer warpgroups; a tile is 256 query rows of one head, 64 to a warpgroup. K and V
// come in blocks of 64 keys through two rings filled by the copy engine. Scores of block j + 1 are issued before the probabilities of block
// j are multiplied with V. Scores are taken relative to the largest of a row's first block, and none is compared with it on the way: sums
// tell at the end whether one was too large, and such tiles come again, with every block looked at (attention_maxima.cuh,
// attention_tiles.sm90.cuh). A warp that has met one looks at every block from there on.
//
//   producer                       consumers
//   qEmpty ─► load Q ─► qFull      S(0) = Q·K(0)ᵀ, softmax
//   kEmpty ─► load K ─► kFull      for j = 1..: issue S(j), issue O += P(j-1)·V(j-1), softmax(S(j)), rescale O
//   vEmpty ─► load V ─► vFull      O += P(last)·V(last), divide, store
//
// What lost: some of the powers as polynomials. Figures: docs/kernels/attention.md. Symbols: attention_sm90_slim_<dtype>_d<most channels>.
#include "../../device/ptx/matrix_descriptor.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/ptx/registers.cuh"
#include "../../device/ptx/uniform.cuh"
#include "../../device/ptx/wgmma.cuh"
#include "../../device/vec.cuh"
#include "attention_maxima.cuh"
#include "attention_params.h"
#include "attention_slim.h"
#include "attention_tiles.sm90.cuh"

using namespace vd::device;

namespace {

using Tiles = AttentionTiles<kSlimRows, kSlimKeys, kSlimStages>;
constexpr int kConsumers = Tiles::kConsumers, kStages = kSlimStages, kTileBytes = Tiles::kTileBytes;
static_assert(kSlimThreads == 128 * (kConsumers + 1), "a further warpgroup loads");

/** Element type and channels of a head: of products with values; with queries whole steps of sixteen. */
template <class T_, int kChannels_> struct SlimConfig {
  using T = T_;
  static constexpr int kChannels = kChannels_, kSteps = (kChannels + 15) / 16;
};

/** Issues scores[64, 64] = Q · Kᵀ for this warpgroup. */
template <class Config> __device__ __forceinline__ void issue_scores(float (&scores)[32], uint32_t q, uint32_t k) {
  const uint64_t a = ptx::matrix_descriptor(q), b = ptx::matrix_descriptor(k);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < Config::kSteps; ++step)
    ptx::Wgmma<typename Config::T, kSlimKeys, 0>::run(scores, a + 2 * step, b + 2 * step, step > 0);
  ptx::wgmma_commit();
}

/** Issues O += P · V; V's rows are keys, so it is read transposed. */
template <class Config>
__device__ __forceinline__ void issue_values(float (&out)[Config::kChannels / 2], const uint32_t (&p)[4][4], uint32_t v, bool accumulate) {
  const uint64_t b = ptx::matrix_descriptor(v);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < kSlimKeys / 16; ++step)
    ptx::WgmmaRegisters<typename Config::T, Config::kChannels, 1>::run(out, p[step], b + (step * 16 * 128 >> 4), accumulate || step > 0);
  ptx::wgmma_commit();
}

/** Of a thread's two rows: what scores are taken relative to, and the sums of its own keys' probabilities. */
struct SlimState {
  float maxima[2], sums[2];
};

/** The largest scores of each of a thread's two rows among its own keys. */
__device__ __forceinline__ void largest(const float (&scores)[32], float (&best)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const auto pair = [&](int i) { return fmaxf(scores[4 * i + 2 * r], scores[4 * i + 2 * r + 1]); };
    float even = pair(0), odd = pair(1);
#pragma unroll
    for (int i = 2; i < 8; i += 2) {
      even = fmaxf(even, pair(i));
      odd = fmaxf(odd, pair(i + 1));
    }
    best[r] = fmaxf(even, odd);
  }
}

/** Takes larger maxima where a thread of the warp has scores that exceed theirs by more than the slack. Returns whether; factors: what
 *  outputs so far must be multiplied with. */
__device__ __forceinline__ bool raise(SlimState& state, const float (&scores)[32], float scale, float (&factors)[2]) {
  float best[2];
  largest(scores, best);
  if (!raise_maxima(state.maxima, best, scale, factors)) return false;
#pragma unroll
  for (int r = 0; r < 2; ++r) state.sums[r] *= factors[r];
  return true;
}

/** Scores of keys that there are not, in the last block. */
__device__ __forceinline__ void mask_scores(float (&scores)[32], int valid) {
  if (valid >= kSlimKeys) return;
  const int column = 2 * (threadIdx.x & 3);
#pragma unroll
  for (int i = 0; i < 32; ++i)
    if (i / 4 * 8 + column + (i & 1) >= valid) scores[i] = -INFINITY;
}

/** scores → exp2(scale · score - scale · maximum), which are added to the sums. */
__device__ __forceinline__ void soften(SlimState& state, float (&scores)[32], float scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float offset = state.maxima[r] * scale;
    float even = state.sums[r], odd = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& first = scores[4 * i + 2 * r];
      float& second = scores[4 * i + 2 * r + 1];
      first = ptx::exp2_approx(fmaf(first, scale, -offset));
      second = ptx::exp2_approx(fmaf(second, scale, -offset));
      even += first;
      odd += second;
    }
    state.sums[r] = even + odd;
  }
}

/** Makes sums of a thread's keys those of its rows. Returns whether scores of the warp's rows were too large for what they were taken
 *  relative to. */
__device__ __forceinline__ bool finish_sums(SlimState& state) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int step = 1; step <= 2; step <<= 1) state.sums[r] += __shfl_xor_sync(0xffffffffu, state.sums[r], step);
  return __any_sync(0xffffffffu, !within_slack(state.sums[0]) || !within_slack(state.sums[1]));
}

/** Probabilities as the A operand of four products of depth 16. */
template <class T> __device__ __forceinline__ void pack_probabilities(uint32_t (&p)[4][4], const float (&scores)[32]) {
#pragma unroll
  for (int i = 0; i < 16; ++i) p[i / 4][i % 4] = pack2<T>(scores[2 * i], scores[2 * i + 1]);
}

/** Divides by the sums and stores a thread's two rows, of which it has two channels of every eight. */
template <class Config>
__device__ __forceinline__ void store_tile(const AttentionSm90Params& p, const AttentionTile& t, const SlimState& state,
                                           const float (&out)[Config::kChannels / 2], int rowInTile) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 3;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float sum = state.sums[r], inverse = ptx::reciprocal_approx(sum);
    const int row = t.q + rowInTile + 8 * r;
    if (row >= p.seqQ) continue;
    T* y = static_cast<T*>(p.y) + (static_cast<int64_t>(t.frame) * p.seqQ + row) * p.yPitch + t.head * p.dim;
#pragma unroll
    for (int i = 0; i < Config::kChannels / 8; ++i) {
      const float* o = out + 4 * i + 2 * r;
      if (8 * i < p.dim) *reinterpret_cast<uint32_t*>(y + 8 * i + 2 * lane) = pack2<T>(o[0] * inverse, o[1] * inverse);
    }
    if (p.lse && lane == 0)
      p.lse[(static_cast<int64_t>(t.frame) * p.heads + t.head) * p.seqQ + row] = (state.maxima[r] * p.scale + log2f(sum)) * kLn2;
  }
}

template <class Config>
__device__ __forceinline__ void consume(const AttentionSm90Params& p, const AttentionShared& s, AttentionSignals<Tiles>& signals,
                                        int group) {
  using T = typename Config::T;
  RingCursor<kStages> k, v;
  uint32_t qParity = 0;
  const uint32_t q = s.q + group * 64 * 128;
  const int rowInTile = group * 64 + threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4;
  const auto await_keys = [&] { ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity); };
  const auto await_values = [&] { ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity); };
  const auto release_keys = [&] {
    release_stage<1>(s.kEmpty + 8 * k.stage);
    k.advance();
  };
  const auto release_values = [&] {
    release_stage<1>(s.vEmpty + 8 * v.stage);
    v.advance();
  };
  const int numBlocks = (p.seqK + kSlimKeys - 1) / kSlimKeys;
  int missed = -1;  // the first tile in which scores of this warp's rows were too large
  AttentionTurns<Tiles> turns;
  for (; turns.more(p, s, signals, [&] { attention_tell_missed<Tiles>(s, signals, missed); }); turns.advance()) {
    const AttentionTile tile = attention_tile<Tiles>(p, turns.tile);
    const bool looks = missed >= 0 || turns.repeats >= 0;
    float scores[32], out[Config::kChannels / 2], factors[2];
    uint32_t probabilities[4][4];
    int keys = attention_first_keys<Tiles>(tile, numBlocks);
    SlimState state = {{0.0f, 0.0f}, {0.0f, 0.0f}};
    ptx::mbarrier_wait(s.qFull, qParity);
    qParity ^= 1;
    await_keys();
    issue_scores<Config>(scores, q, s.k + k.stage * kTileBytes);
    ptx::wgmma_wait<0>();
    release_keys();
    mask_scores(scores, p.seqK - keys * kSlimKeys);
    largest(scores, state.maxima);
    largest_of_quad(state.maxima);
    soften(state, scores, p.scale);
    pack_probabilities<T>(probabilities, scores);
    if (numBlocks > 1) await_keys();
#pragma unroll 1
    for (int j = 1; j < numBlocks; ++j) {
      issue_scores<Config>(scores, q, s.k + k.stage * kTileBytes);
      await_values();
      issue_values<Config>(out, probabilities, s.v + v.stage * kTileBytes, j > 1);
      keys = attention_next_keys(keys, numBlocks);
      ptx::wgmma_wait<1>();
      release_keys();
      mask_scores(scores, p.seqK - keys * kSlimKeys);
      const bool raised = looks && raise(state, scores, p.scale, factors);
      soften(state, scores, p.scale);
      if (j + 1 < numBlocks) await_keys();
      ptx::wgmma_wait<0>();
      release_values();
      if (raised) {
#pragma unroll
        for (int i = 0; i < Config::kChannels / 2; ++i) out[i] *= factors[i >> 1 & 1];
      }
      pack_probabilities<T>(probabilities, scores);
    }
    release_stage<1>(s.qEmpty);
    await_values();
    issue_values<Config>(out, probabilities, s.v + v.stage * kTileBytes, numBlocks > 1);
    ptx::wgmma_wait<0>();
    release_values();
    if (finish_sums(state) && !looks) missed = turns.tile;
    store_tile<Config>(p, tile, state, out, rowInTile);
  }
}

template <class Config> __device__ __forceinline__ void attention_slim(const AttentionSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) AttentionSignals<Tiles> signals;
  const AttentionShared s = attention_shared<Tiles>(dynamicShared, signals);
  begin_next_launch();
  __syncthreads();
  await_results_before();
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == kConsumers) {
    ptx::registers_lower<24>();
    if (threadIdx.x == kConsumers * 128) attention_produce<Tiles>(p, s, signals);
  } else {
    ptx::registers_raise<112>();
    consume<Config>(p, s, signals, warpgroup);
  }
}

}  // namespace

#define VD_SLIM(type, name, channels) \
  VD_KERNEL(attention_sm90_slim_##name##_d##channels, AttentionSm90Params, kSlimThreads, 1, attention_slim<SlimConfig<type, channels>>)
#define VD_SLIM_ALL(type, name) \
  VD_SLIM(type, name, 16)       \
  VD_SLIM(type, name, 32)       \
  VD_SLIM(type, name, 40)       \
  VD_SLIM(type, name, 48)

VD_SLIM_ALL(__half, f16)
VD_SLIM_ALL(__nv_bfloat16, bf16)
