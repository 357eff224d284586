// The Hopper matrix core for few tokens: D[n, token] = sum over channels of weights[n, c] · x[token, c], so that the tensor cores' 64 rows
// are columns of the result, of which there are many, and tokens may be any multiple of eight.
//
// 257 tokens (a picture for CLIP) are three tiles of 128 rows, the last of which has one; turned they are three tiles of 88.
//
// Most of what such a product takes is waiting: for weights from memory, and for what follows the last product. So a ring is as deep as
// shared memory allows for the blocks that a multiprocessor has, and the tail begins in the registers of the sums: of a thread's sums half
// are of one column and half of another, whose biases are there before the products.
//
//   producer            full[s]                    consumers                       empty[s]
//   wait empty[s] ──► expect bytes, load both ──► wait full[s], wgmma ──► one arrival per warp
//   bias and activation ──► floats over the ring, a token's columns behind each other ──► eight columns a thread: the rest of the tail
//   where nothing is left of the tail: results instead of floats
//
// Why, and what it was measured by: docs/kernels/matmul_sm90.md.
#pragma once
#include "epilogue.cuh"
#include "kernel.cuh"
#include "matmul_sm90_turned.h"
#include "ptx/load.cuh"
#include "ptx/matrix_descriptor.cuh"
#include "ptx/mma.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tma.cuh"
#include "ptx/uniform.cuh"
#include "ptx/wgmma.cuh"
#include "ring_sm90.cuh"

namespace vd::device {

template <class T_, int kTileIndex> struct TurnedConfig {
  using T = T_;
  static constexpr TurnedTile kTile = kTurnedTiles[kTileIndex];
  static constexpr int kTokens = kTile.tokens, kColumns = kTile.columns, kStages = kTile.stages;
  static constexpr int kConsumers = turned_consumers(kTile);
  static constexpr int kTokenBytes = kTokens * 128, kWeightBytes = kColumns * 128, kStageBytes = turned_stage_bytes(kTile);
  /** Of a token's sums, in floats: the first four columns of every eight, and from kSumsHalf on the last four. A warp's fragments of
   *  eight columns by eight tokens lie in 32 banks, and so do the vectors that lanes read side by side. */
  static constexpr int kSumsHalf = kColumns / 2 + 4, kSumsPitch = kColumns + 4;
  /** Of a token's results in shared memory, and whether they go there at once: whole pairs of eight tokens. */
  static constexpr int kLineBytes = kColumns * 2;
  static constexpr bool kLines = kTokens % 16 == 0;
  static_assert(kColumns % 64 == 0 && kTokens % 8 == 0, "tokens lie in swizzle atoms of eight rows");
  static_assert(kSumsHalf % 32 == 4 && 2 * kSumsPitch % 32 == 8, "fragments lie in different banks");
  static_assert(kSumsHalf + kColumns / 2 <= kSumsPitch, "halves do not overlap");
  static_assert(kTokens * kSumsPitch * 4 <= kStages * kStageBytes, "sums lie where the stages were");
};

template <class Config> struct TurnedShared {
  uint32_t ring;
  __device__ __forceinline__ uint32_t weights(int s) const { return ring + s * Config::kStageBytes; }
  __device__ __forceinline__ uint32_t tokens(int s) const { return weights(s) + Config::kWeightBytes; }
  __device__ __forceinline__ uint32_t full_at(int s) const { return weights(Config::kStages) + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
};

/** Where this block's tile begins. */
struct TurnedPlace {
  int firstToken, firstColumn;
};

/** The producer thread. Weights that nothing writes fill the ring before the launch before has ended. */
template <class Config>
__device__ __forceinline__ void turned_produce(const MatmulTurnedParams& p, const TurnedShared<Config>& shared, const TurnedPlace& place) {
  const auto load_weights = [&](const RingCursor<Config::kStages>& at, int k) {
    const uint32_t full = expect_bytes(shared, at, Config::kStageBytes);
    ptx::tma_load_4d(shared.weights(at.stage), &p.weights, full, k * 64, 0, place.firstColumn, 0);
  };
  const int early = p.constantWeights ? min(p.numKBlocks, Config::kStages) : 0;
  RingCursor<Config::kStages> first{0, 1};
#pragma unroll 1
  for (int k = 0; k < early; ++k, first.advance()) load_weights(first, k);
  await_results_before();
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int k = 0; k < p.numKBlocks; ++k, at.advance()) {
    if (k >= early) {
      await_free(shared, at);
      load_weights(at, k);
    }
    ptx::tma_load_4d(shared.tokens(at.stage), &p.x, shared.full_at(at.stage), k * 64, place.firstToken, 0, 0);
  }
}

/** acc = this warpgroup's 64 columns of the result for all tokens of the tile. */
template <class Config>
__device__ __forceinline__ void turned_multiply(float (&acc)[Config::kTokens / 2], const TurnedShared<Config>& shared, int group,
                                                int numKBlocks) {
  using Product = ptx::Wgmma<typename Config::T, Config::kTokens, 0>;
  int previous = 0;
  RingCursor<Config::kStages> at{0, 0};
#pragma unroll 1
  for (int k = 0; k < numKBlocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    const uint64_t a = ptx::matrix_descriptor(shared.weights(at.stage) + group * 64 * 128);
    const uint64_t b = ptx::matrix_descriptor(shared.tokens(at.stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) Product::run(acc, a + step * 2, b + step * 2, k > 0 || step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (k > 0) release_stage<1>(shared.empty_at(previous));
    previous = at.stage;
    at.advance();
  }
  ptx::wgmma_wait<0>();
  release_stage<1>(shared.empty_at(previous));
}

/** Where column `column` of a token's sums lies. */
template <class Config> __device__ __forceinline__ int turned_sum_at(int token, int column) {
  return token * Config::kSumsPitch + (column >> 2 & 1) * Config::kSumsHalf + (column >> 3) * 4 + (column & 3);
}

/** The columns of this thread's sums: of acc[4i] and acc[4i + 1], and 8 behind it of the other half. */
__device__ __forceinline__ int turned_column(int group) { return group * 64 + threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4; }

/** Biases of those columns, asked for before the products. */
struct TurnedBias {
  float low, high;
};
__device__ __forceinline__ TurnedBias turned_bias(const MatmulTurnedParams& p, int column) {
  const auto* bias = static_cast<const float*>(p.epilogue.bias);
  const auto of = [&](int at) { return bias != nullptr && at < p.epilogue.n ? ptx::load_here(bias + at) : 0.0f; };
  return {of(column), of(column + 8)};
}

/** The part of the tail that knows nothing but a sum and its column. */
template <class Config>
__device__ __forceinline__ void turned_activate(float (&acc)[Config::kTokens / 2], const TurnedBias& bias, int activation) {
#pragma unroll
  for (int i = 0; i < Config::kTokens / 2; ++i) acc[i] += i & 2 ? bias.high : bias.low;
  activate<true>(acc, activation);
}

template <class Config> __device__ __forceinline__ void turned_put_sums(const float (&acc)[Config::kTokens / 2], int group, float* sums) {
  const int lane = threadIdx.x & 31, column = turned_column(group);
#pragma unroll
  for (int block = 0; block < Config::kTokens / 8; ++block)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[turned_sum_at<Config>(block * 8 + 2 * (lane & 3) + (i & 1), column + 8 * (i >> 1))] = acc[4 * block + i];
}

/** Brings the tile of the residual to L2 while the products are computed. By the consumers. */
template <class Config> __device__ __forceinline__ void turned_prefetch_residual(const MatmulTurnedParams& p, const TurnedPlace& place) {
  constexpr int kLine = 64, kLines = Config::kColumns / kLine;  // elements of 128 bytes
  const int count = min(Config::kTokens, p.numTokens - place.firstToken) * kLines;
  for (int i = threadIdx.x; i < count; i += Config::kConsumers) {
    const int column = place.firstColumn + i % kLines * kLine;
    if (column < p.epilogue.n)
      ptx::prefetch_l2(static_cast<const typename Config::T*>(p.epilogue.residual) +
                       (place.firstToken + i / kLines) * p.epilogue.residualPitch + column);
  }
}

/** Results that are whole in the registers of their sums, to lines of tokens: eight columns of a token are 16 bytes, chunk c of token t at
 *  c ^ (t & 7). A product's rows are columns here, so matrices are stored with their columns as rows. lines: where they go. */
template <class Config>
__device__ __forceinline__ void turned_put_results(const float (&acc)[Config::kTokens / 2], int group, float scale, uint32_t lines) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 31, warp = threadIdx.x % 128 / 32;
  // Lanes give the places of: columns 0-7 and 8-15 of eight tokens, then of the next eight.
  const int token = lane / 16 * 8 + (lane & 7), chunk = group * 8 + warp * 2 + lane / 8 % 2;
  const uint32_t at = lines + token * Config::kLineBytes + ((chunk ^ (token & 7)) << 4);
#pragma unroll
  for (int pair = 0; pair < Config::kTokens / 16; ++pair) {
    const float* v = acc + 8 * pair;
    const auto pack = [&](int i) { return pack2<T>(v[i] * scale, v[i + 1] * scale); };
    ptx::stmatrix_x4_transposed(at + pair * 16 * Config::kLineBytes, pack(0), pack(2), pack(4), pack(6));
  }
}

/** From there to memory, eight columns a thread at a time. */
template <class Config>
__device__ __forceinline__ void turned_store_results(const MatmulTurnedParams& p, const TurnedPlace& place, uint32_t lines) {
  constexpr int kChunks = Config::kColumns / 8;
  const int chunk = threadIdx.x % kChunks, column = place.firstColumn + chunk * 8;
  if (column >= p.epilogue.n) return;
  const int numTokens = min(Config::kTokens, p.numTokens - place.firstToken);
  auto* y = static_cast<typename Config::T*>(p.epilogue.y) + column;
#pragma unroll 2
  for (int token = threadIdx.x / kChunks; token < numTokens; token += Config::kConsumers / kChunks)
    *reinterpret_cast<uint4*>(y + (place.firstToken + token) * p.epilogue.yPitch) =
        ptx::load_shared16(lines + token * Config::kLineBytes + ((chunk ^ (token & 7)) << 4));
}

/** The rest of the tail, or all of it, eight columns a thread at a time. By the consumers. */
template <class Config>
__device__ __forceinline__ void turned_finish(const MatmulTurnedParams& p, const TurnedPlace& place, const float* sums, bool activated) {
  constexpr int kChunks = Config::kColumns / 8;
  const int numTokens = min(Config::kTokens, p.numTokens - place.firstToken), column = threadIdx.x % kChunks * 8;
#pragma unroll 2
  for (int token = threadIdx.x / kChunks; token < numTokens; token += Config::kConsumers / kChunks) {
    const float* at = sums + turned_sum_at<Config>(token, column);
    const float4 low = *reinterpret_cast<const float4*>(at), high = *reinterpret_cast<const float4*>(at + Config::kSumsHalf);
    float v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    epilogue8_typed<typename Config::T, true>(p.epilogue, v, place.firstToken + token, place.firstColumn + column, activated);
  }
}

template <class Config> __device__ __forceinline__ void matmul_sm90_turned(const MatmulTurnedParams& p) {
  extern __shared__ __align__(1024) uint8_t dynamicShared[];
  const TurnedShared<Config> shared{ptx::warp_uniform(shared_address(dynamicShared))};
  begin_next_launch();
  if (threadIdx.x == Config::kConsumers) {
    ptx::prefetch_tensor_map(&p.weights);
    ptx::prefetch_tensor_map(&p.x);
  }
  const int tile = static_cast<int>(blockIdx.x);
  const TurnedPlace place{tile / p.numColumnTiles * Config::kTokens, tile % p.numColumnTiles * Config::kColumns};
  if (threadIdx.x == 0) {
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), Config::kConsumers / 32);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int group = ptx::warpgroup_index();
  if (group >= Config::kConsumers / 128) {
    if (threadIdx.x == Config::kConsumers) turned_produce<Config>(p, shared, place);
  } else {
    const TurnedBias bias = turned_bias(p, place.firstColumn + turned_column(group));
    await_results_before();  // residuals are the results of others
    if (p.epilogue.residual) turned_prefetch_residual<Config>(p, place);
    float acc[Config::kTokens / 2];
    turned_multiply<Config>(acc, shared, group, p.numKBlocks);
    const bool activated = p.epilogue.frameBias == nullptr;
    if (activated) turned_activate<Config>(acc, bias, p.epilogue.act);
    const bool whole = Config::kLines && activated && p.epilogue.residual == nullptr && p.epilogue.residual2 == nullptr;
    ptx::named_barrier(1, Config::kConsumers);  // all have read the last stages
    if (whole) {
      turned_put_results<Config>(acc, group, p.epilogue.outScale, shared.ring);
      ptx::named_barrier(1, Config::kConsumers);
      turned_store_results<Config>(p, place, shared.ring);
    } else {
      float* sums = reinterpret_cast<float*>(dynamicShared);
      turned_put_sums<Config>(acc, group, sums);
      ptx::named_barrier(1, Config::kConsumers);
      turned_finish<Config>(p, place, sums, activated);
    }
  }
}

}  // namespace vd::device
