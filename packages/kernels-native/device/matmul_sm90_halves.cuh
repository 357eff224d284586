// The Hopper matrix core for geglu with long reductions: the two consumer warpgroups own 64 rows each of the same 128x256 tile,
// and one runs some blocks of the reduction behind the other, so that its products run beside the other's results.
//
// Shared memory bounds these products (an m64n256k16 reads 10 KiB in 128 cycles, loads add 6): tiles of 128x128 for each
// warpgroup in turn hide results but read a quarter more. Here both warpgroups read the same weights, and only the lag keeps
// them apart: the one ahead leaves for its results, the other then has the tensor cores to itself and catches up by
// as much as it lost. The ring bounds the lag.
#pragma once
#include "matmul_sm90_rows.cuh"

namespace vd::device {

/** One variant: element type, index into kMatmulTiles, blocks of 64 that the second warpgroup lags behind, and
 *  whether the gate is silu, not gelu. */
template <class T_, int kTileIndex, int kLag_, bool kSwiglu_ = false> struct HalvesConfig {
  using T = T_;
  static constexpr MatmulTile kTile = kMatmulTiles[kTileIndex];
  static constexpr int kTileM = 64, kTileN = kTile.tileN, kWidth = kTile.width, kStages = kTile.stages, kCluster = kTile.cluster;
  static constexpr int kLag = kLag_;
  static constexpr bool kPingpong = true, kOwnStaging = true, kGeglu = true, kActivation = false, kGeneric = false, kStaged = true,
                        kRowTiles = true;
  static constexpr bool kSwiglu = kSwiglu_, kPhases = false, kColumnScales = false, kStagedActivation = false;
  static constexpr int kRowBlocks = 1, kColBlocks = 1, kHalfN = kTileN / 2;
  static constexpr int kStageBytesA = 2 * kTileM * 128, kStageBytesB = kTileN * 128;
  static constexpr int kOutColumns = kTileN / 2, kStepColumns = 32, kSteps = kOutColumns / kStepColumns;
  static constexpr int kStepBytes = kTileM * 64, kStagingBytes = kSteps * kStepBytes, kAllStagingBytes = 2 * kStagingBytes;
};

/** Tile `tile` of this block: column tile and block of 128 rows. */
struct HalvesIndex {
  int n, rows;
};
template <class Config> __device__ __forceinline__ HalvesIndex halves_index(const MatmulSm90Params& p, int tile, int rank) {
  const auto [n, rest] = matmul_turn(p, tile);
  return {n, rest * Config::kCluster + rank};
}

template <class Config>
__device__ __forceinline__ void halves_produce(const MatmulSm90Params& p, const MatmulShared<Config>& shared, int rank, int numTiles) {
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const HalvesIndex index = halves_index<Config>(p, tile, rank);
#pragma unroll 1
    for (int k = 0; k < p.numKBlocks * 64; k += 64) {
      await_free(shared, at);
      const uint32_t full = expect_bytes(shared, at, Config::kStageBytesA + Config::kStageBytesB);
      ptx::tma_load_5d(shared.a(at.stage), &p.a, full, k, index.rows * (2 * Config::kTileM), 0, 0, 0);
      matmul_load_b<Config>(p, shared.b(at.stage), full, k, 0, index.n * Config::kTileN, 0, rank);
      at.advance();
    }
  }
}

/** acc = this warpgroup's rows · Bᵀ. starter: the first warpgroup of the first tile tells when the other may begin. */
template <class Config>
__device__ __forceinline__ void halves_accumulate(float (&acc)[Config::kWidth / 2], const MatmulShared<Config>& shared, int group,
                                                  int numKBlocks, RingCursor<Config::kStages>& at, bool starter) {
  using Product = ptx::Wgmma<typename Config::T, Config::kWidth, 0>;
  int previous = 0;
  for (int k = 0; k < numKBlocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    const uint64_t a = ptx::matrix_descriptor(shared.a(at.stage) + group * Config::kTileM * 128),
                   b = ptx::matrix_descriptor(shared.b(at.stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) Product::run(acc, a + step * 2, b + step * 2, k > 0 || step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (k > 0) release_stage<Config::kCluster>(shared.empty_at(previous));
    if (starter && k == min(Config::kLag, numKBlocks) - 1) ptx::named_barrier_arrive(1, 256);
    previous = at.stage;
    at.advance();
  }
  ptx::wgmma_wait<0>();
  release_stage<Config::kCluster>(shared.empty_at(previous));
}

/** A consumer warpgroup: its half of all tiles. */
template <class Config>
__device__ __forceinline__ void halves_consume(const MatmulSm90Params& p, const MatmulShared<Config>& shared, int group, int rank,
                                               int numTiles, float* bias) {
  RingCursor<Config::kStages> at{0, 0};
  uint32_t parity = 0;
  bool isFirst = true;
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const HalvesIndex half = halves_index<Config>(p, tile, rank);
    const MatmulTileIndex index{half.n, 0, half.rows * 2 + group};
    float acc[1][1][Config::kWidth / 2];
    if (matmul_first_of_set<Config>()) matmul_open_staging<Config>(p, index, shared.staging(group), shared.residual_at(group));
    matmul_set_barrier<Config>(group);  // the tile before no longer reads the bias, its stores no longer the staging
    matmul_load_bias<Config>(p, index, bias);
    if (isFirst && group == 1) ptx::named_barrier(1, 256);
    halves_accumulate<Config>(acc[0][0], shared, group, p.numKBlocks, at, isFirst && group == 0);
    isFirst = false;
    matmul_set_barrier<Config>(group);
    matmul_store_staged<Config>(p, acc, index, group, 0, bias, shared.staging(group), shared.residual_at(group), parity);
  }
  if (matmul_first_of_set<Config>()) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_halves(const MatmulSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(16) float biases[2][Config::kTileN];
  MatmulShared<Config> shared;
  shared.ring = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  const int rank = static_cast<int>(ptx::cluster_block_rank());
  const int numTiles = (p.numMTiles + 2 * Config::kCluster - 1) / (2 * Config::kCluster) * p.numNTiles;
  if (threadIdx.x == 0) {
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), 8 * Config::kCluster);
    }
    for (int group = 0; group < 2; ++group) ptx::mbarrier_init(shared.residual_at(group), 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();

  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == 2) {
    ptx::registers_lower<24>();
    if (threadIdx.x == 256) halves_produce<Config>(p, shared, rank, numTiles);
  } else {
    ptx::registers_raise<240>();
    halves_consume<Config>(p, shared, warpgroup, rank, numTiles, biases[warpgroup]);
  }
  // A block may not leave while others still signal its barriers or write its stages.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

}  // namespace vd::device
