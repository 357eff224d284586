// The Hopper matrix core: D[pixels, N] = sum over taps and channels of A[pixel + tap, c] · B[n, tap, c], then the epilogue.
//
// One producer thread fills a ring of (A, B) stages through the copy engine; A tiles are boxes of the activation tensor
// with start coordinates that may lie outside it, so zero padding costs nothing. Two consumer warpgroups multiply with
// wgmma, each half of the tile's rows, or (pingpong) each a whole tile in turn. Blocks are persistent; in a cluster two
// blocks take neighbouring pixel tiles and each multicasts half of the weights' tile to both.
//
//   producer            full[s]                    consumers                       empty[s]
//   wait empty[s] ──► expect bytes, load A, B ──► wait full[s], wgmma ──► one arrival per warp, to every block of the cluster
//
// Log (NVIDIA H200, driver 580; f16; ceiling 742 TFLOP/s of cuBLAS at 8192³, 4.26 TB/s of copies; us, [TFLOP/s]):
//                                         conv 3x3 320   conv 3x3 640   linear k320 n320   linear k320 n2560   8192³
//   v1 arrivals released at cluster scope   1594 [533]     1502 [566]     385                2908                2069
//   v2 arrivals at block scope              1217 [698]     1155 [735]     329                2519                1558
//   v3 tails without branches, long pointers and
//      divisions hoisted                    1170 [726]     1160 [732]     234                1751                1581
//   v4 bias tile and lines through shared memory (ldmatrix, stmatrix) instead of quad shuffles
//                                           1163 [730]     1125 [755]     226                1645                1576
//   Residual tails (k320 n320): 666 → 617 → 546 → 334; temporal conv 320: 943 → 825 → 677 → 535.
//   Lost: release at cluster scope (every arrival waited for the epilogue's stores); tiles m256n128 and m128n320 (never
//   best); a residual prefetched to L2 only (545 → 479, then overtaken); staging a whole row block at once with five
//   stages (no gain but for vae.temporal.128, 5376 → 4840, and 16 bytes of spills); pingpong without the order barrier
//   (a full barrier tells only the parity of its phase: wrong results with more than one ring of k-steps per tile).
//   v5 tiles ...s: residuals loaded and results stored by the copy engine (matmul_sm90_staged.cuh)
//                                           1143 [743]     1121 [757]     204                1398
//      Residual tails: k320 n320 265, temporal conv 320 477. With geglu k320 1784, k640 n5120 1486, k1280 n10240 1368.
//   v6 geglu's erf by a polynomial, no divisions between results of linears; frames first where taps lie in other frames
//                                                                         198                1307
//      geglu k320 1476, k640 1245, k1280 1173; k1280 n320 with residual 671 -> 640; conv 3x1x1 of 25x128 576x1024, whose
//      source left L2 between its three taps, 4454 -> 3413. Rows in registers (matmul_sm90_rows.cuh) geglu k320 1420; one
//      warpgroup behind the other (matmul_sm90_halves.cuh) geglu k640 1182, k1280 1067.
//   What stands between: shared memory. An m64n160k16 reads 7 KiB in 80 cycles and loads add 58 bytes a cycle: 147 of 128 for
//   128x160 tiles, to which results add theirs; the clock falls to 1.5 GHz at the power limit, and one card to the next
//   differs by 12 %. At 320 channels the tensor cores are busy for 65 % of the time (rows), 55 % before.
#pragma once
#include "matmul_sm90_staged.cuh"
#include "matmul_sm90_tail.cuh"
#include "ptx/registers.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace vd::device {

/** Shared-memory matrix descriptor, 128-byte swizzle, rows of 128 bytes in groups of 8. */
__device__ __forceinline__ uint64_t matmul_descriptor(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

template <class Config> struct MatmulShared {
  uint32_t ring;  // stages, staged results, then full and empty barriers, then those of the residual
  __device__ __forceinline__ uint32_t a(int s) const { return ring + s * (Config::kStageBytesA + Config::kStageBytesB); }
  __device__ __forceinline__ uint32_t b(int s) const { return a(s) + Config::kStageBytesA; }
  __device__ __forceinline__ uint32_t staging(int set) const { return a(Config::kStages) + set * Config::kStagingBytes; }
  __device__ __forceinline__ uint32_t full_at(int s) const { return a(Config::kStages) + Config::kAllStagingBytes + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
  __device__ __forceinline__ uint32_t residual_at(int set) const { return full_at(2 * Config::kStages + set); }
};

/** Loads one weight tile, whole or this block's half for the whole cluster. */
template <class Config>
__device__ __forceinline__ void matmul_load_b(const MatmulSm90Params& p, uint32_t dst, uint32_t full, int k, int tap, int row,
                                              int phase, int rank) {
  constexpr int kHalf = Config::kHalfN;
  if constexpr (Config::kCluster == 2) {
    const uint32_t half = dst + rank * kHalf * 128;
    row += rank * kHalf;
    if constexpr (Config::kGeglu) ptx::tma_multicast_4d(half, &p.b, full, 3, k, 0, 0, row / 16);
    else ptx::tma_multicast_4d(half, &p.b, full, 3, k, tap, row, phase);
  } else {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if constexpr (Config::kGeglu) ptx::tma_load_4d(dst + i * kHalf * 128, &p.b, full, k, 0, 0, (row + i * kHalf) / 16);
      else ptx::tma_load_4d(dst + i * kHalf * 128, &p.b, full, k, tap, row + i * kHalf, phase);
    }
  }
}

/** Position in the ring. */
struct MatmulCursor {
  int stage;
  uint32_t parity;
};
/** Waits for a free stage and announces its bytes; returns its full barrier. */
template <class Config>
__device__ __forceinline__ uint32_t matmul_claim(const MatmulSm90Params& p, const MatmulShared<Config>& shared, const MatmulCursor& at) {
  ptx::mbarrier_wait(shared.empty_at(at.stage), at.parity);
  ptx::mbarrier_arrive_expect_tx(shared.full_at(at.stage), p.aBytes + Config::kStageBytesB);
  return shared.full_at(at.stage);
}
template <class Config> __device__ __forceinline__ void matmul_advance(MatmulCursor& at) {
  if (++at.stage == Config::kStages) {
    at.stage = 0;
    at.parity ^= 1;
  }
}

/** The producer thread: every stage of every tile of this block. */
template <class Config>
__device__ __forceinline__ void matmul_produce(const MatmulSm90Params& p, const MatmulShared<Config>& shared, int rank, int numTiles) {
  MatmulCursor at{0, 1};
#pragma unroll 1
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
    const PixelBox box = tile_box<Config>(p, index.m);
    // Staged tiles have no phases: the producer's few registers do not hold them for nothing.
    const int phases = !Config::kStaged && p.numPhases == 4, row = index.n * Config::kTileN;
    const int phase = Config::kStaged ? 0 : index.phase;
    const int w0 = box.w * p.stride[2] - (phases ? 1 - (phase & 1) : p.padding[2]);
    const int h0 = box.h * p.stride[1] - (phases ? 1 - (phase >> 1) : p.padding[1]);
    const int f0 = box.f * p.stride[0] - p.padding[0];
    int tap = 0;
#pragma unroll 1
    for (int f = f0; f < f0 + p.kernel[0]; ++f)
#pragma unroll 1
      for (int h = h0; h < h0 + p.kernel[1]; ++h)
#pragma unroll 1
        for (int w = w0; w < w0 + p.kernel[2]; ++w, ++tap)
#pragma unroll 1
          for (int c = 0; c < p.blocksPerTap * 64; c += 64) {
            const uint32_t full = matmul_claim<Config>(p, shared, at);
            ptx::tma_load_5d(shared.a(at.stage), &p.a, full, c, w, h, f, box.b);
            matmul_load_b<Config>(p, shared.b(at.stage), full, c, tap, row, phase, rank);
            matmul_advance<Config>(at);
          }
#pragma unroll 1
    for (int c = 0; c < (p.numKBlocks - p.numKBlocks1) * 64; c += 64) {
      const uint32_t full = matmul_claim<Config>(p, shared, at);
      ptx::tma_load_5d(shared.a(at.stage), &p.a2, full, c, w0, h0, f0, box.b);
      matmul_load_b<Config>(p, shared.b(at.stage), full, p.channels + c, 0, row, phase, rank);
      matmul_advance<Config>(at);
    }
  }
}

/** One arrival of this warp at the empty barrier of every block that writes our stages. */
template <class Config> __device__ __forceinline__ void matmul_release(const MatmulShared<Config>& shared, int stage) {
  const int lane = threadIdx.x & 31;
  if constexpr (Config::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(shared.empty_at(stage));
  } else {
    if (lane < Config::kCluster) ptx::mbarrier_arrive_cluster(ptx::map_to_block(shared.empty_at(stage), lane));
  }
}

/** acc = this warpgroup's rows of A · Bᵀ over the whole reduction; stages are those from `count` on. With `handOver`
 *  the other warpgroup may start on the stages that follow. A wait on a full barrier tells only the parity of its phase,
 *  so a warpgroup must not wait while the other is still a whole ring behind. */
template <class Config>
__device__ __forceinline__ void matmul_accumulate(float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                  const MatmulShared<Config>& shared, int rowOffset, uint32_t count,
                                                  int numKBlocks, int handOver) {
  using Product = ptx::Wgmma<typename Config::T, Config::kWidth, 0>;
  int previous = 0;
  int stage = count % Config::kStages;
  uint32_t parity = count / Config::kStages & 1;
  for (int k = 0; k < numKBlocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(stage), parity);
    const uint64_t a = matmul_descriptor(shared.a(stage) + rowOffset * 128), b = matmul_descriptor(shared.b(stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
      for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
        for (int n = 0; n < Config::kColBlocks; ++n)
          Product::run(acc[m][n], a + m * (64 * 128 >> 4) + step * 2, b + n * (Config::kWidth * 128 >> 4) + step * 2,
                       k > 0 || step > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (k > 0) matmul_release<Config>(shared, previous);
    previous = stage;
    if (++stage == Config::kStages) { stage = 0; parity ^= 1; }
  }
  if (handOver >= 0) ptx::named_barrier_arrive(handOver, 256);
  ptx::wgmma_wait<0>();
  matmul_release<Config>(shared, previous);
}

/** A consumer warpgroup: products and tails of its tiles. */
template <class Config>
__device__ __forceinline__ void matmul_consume(const MatmulSm90Params& p, const MatmulShared<Config>& shared, int group, int rank,
                                               int numTiles, float* bias, uint32_t staging) {
  constexpr bool kStagedBias = !Config::kActivation && !Config::kGeneric;
  const int rowOffset = Config::kPingpong ? 0 : group * Config::kRows;
  const int set = Config::kPingpong ? group : 0;
  uint32_t count = 0, residualParity = 0;
  int turn = 0;
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    if (!Config::kPingpong || (turn & 1) == group) {
      float acc[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2];
      const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
      bool framed = true;
      if constexpr (Config::kStaged) {
        if (matmul_first_of_set<Config>()) matmul_open_staging<Config>(p, index, shared.staging(set), shared.residual_at(set));
        matmul_set_barrier<Config>(group);  // the tile before no longer reads the bias, its stores no longer the staging
        matmul_load_bias<Config>(p, index, bias);
      } else {
        matmul_prefetch<Config>(p, index, rowOffset);
        if constexpr (kStagedBias) {
          ptx::named_barrier(3 + group, 128);  // the tile before no longer reads the bias
          framed = matmul_load_bias<Config>(p, index, bias);
        }
      }
      const bool more = tile + gridDim.x / Config::kCluster < numTiles;
      if (Config::kPingpong && turn > 0) ptx::named_barrier(1 + group, 256);
      matmul_accumulate<Config>(acc, shared, rowOffset, count, p.numKBlocks, Config::kPingpong && more ? 2 - group : -1);
      if constexpr (Config::kStaged) {
        matmul_set_barrier<Config>(group);
        matmul_store_staged<Config>(p, acc, index, group, rowOffset, bias, shared.staging(set), shared.residual_at(set), residualParity);
      } else {
        if constexpr (kStagedBias) ptx::named_barrier(3 + group, 128);
        matmul_store<Config>(p, acc, index, rowOffset, bias, staging, framed);
      }
    }
    count += p.numKBlocks;
    ++turn;
  }
  if constexpr (Config::kStaged)
    if (matmul_first_of_set<Config>()) ptx::bulk_wait();
}

template <class Config> __device__ __forceinline__ void matmul_sm90(const MatmulSm90Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  constexpr int kBiasSets = Config::kStaged && !Config::kPingpong ? 1 : 2;
  __shared__ __align__(16) float biases[kBiasSets][Config::kTileN];
  __shared__ __align__(128) uint8_t staging[Config::kStaged ? 1 : 8][Config::kStaged ? 16 : 1024];
  MatmulShared<Config> shared;
  shared.ring = (shared_address(dynamicShared) + 1023) & ~1023u;
  const int rank = Config::kCluster == 1 ? 0 : static_cast<int>(ptx::cluster_block_rank());
  const int numTiles = (p.numMTiles + Config::kCluster - 1) / Config::kCluster * p.numPhases * p.numNTiles;
  if (threadIdx.x == 0) {
    constexpr int kConsumerWarps = Config::kPingpong ? 4 : 8;
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), kConsumerWarps * Config::kCluster);
    }
    if constexpr (Config::kStaged)
      for (int set = 0; set < 2; ++set) ptx::mbarrier_init(shared.residual_at(set), 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if constexpr (Config::kCluster > 1) { ptx::cluster_arrive(); ptx::cluster_wait(); }

  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 2) {
    ptx::registers_lower<24>();
    if (threadIdx.x == 256) matmul_produce<Config>(p, shared, rank, numTiles);
  } else {
    ptx::registers_raise<240>();
    matmul_consume<Config>(p, shared, warpgroup, rank, numTiles, biases[warpgroup % kBiasSets],
                           shared_address(staging[Config::kStaged ? 0 : threadIdx.x / 32]));
  }
  // A block may not leave while others still signal its barriers or write its stages.
  if constexpr (Config::kCluster > 1) { ptx::cluster_arrive(); ptx::cluster_wait(); }
}

}  // namespace vd::device
