// The epilogue of the Hopper matrix core through the copy engine: the residual's tile is loaded into shared memory while the
// products run, results take its place, and whole boxes are stored while the next tile begins. 32 columns are a step: 64-byte
// rows, 16-byte chunk c of row r at c ^ (r / 2 & 3), which is the copy engine's 64-byte swizzle.
//
//   first thread                          all threads of the set
//   wait for the last stores' reads
//   load residual ──────────────────► set barrier ──► products ──► set barrier ──► wait residual, add, results to staging
//   store boxes  ◄────────────────────────────────────────────── fence, set barrier
//
// A second residual is loaded into the same place once the first has been added to the accumulators; meanwhile the other
// warpgroup multiplies.
#pragma once
#include "matmul_sm90_tail.cuh"
#include "ptx/tma.cuh"

namespace vd::device {

/** Threads that fill one staging: a warpgroup that has its own, else both. */
template <class Config> inline constexpr int kSetThreads = Config::kOwnStaging ? 128 : 256;

template <class Config> __device__ __forceinline__ void matmul_set_barrier(int group) {
  ptx::named_barrier(3 + (Config::kOwnStaging ? group : 0), kSetThreads<Config>);
}
/** Starts storing a tile. Of four phases, the map has two neighbouring pixels of a row as channels of one, and two rows beside each other.
 */
template <class Config>
__device__ __forceinline__ void matmul_store_boxes(const MatmulSm90Params& p, const MatmulTileIndex& index, uint32_t staging) {
  const PixelBox box = tile_box<Config>(p, index.m);
  int channel = index.n * Config::kOutColumns, w = box.w;
  if (Config::kPhases && p.numPhases == 4) {
    channel += (index.phase & 1) * static_cast<int>(p.epilogue.yPitch);
    w += (index.phase >> 1) * p.out[2];
  }
#pragma unroll
  for (int step = 0; step < Config::kSteps; ++step)
    ptx::tma_store_5d(&p.y, staging + step * Config::kStepBytes, channel + step * Config::kStepColumns, w, box.h, box.f, box.b);
  ptx::bulk_commit();
}

template <class Config> __device__ __forceinline__ bool matmul_first_of_set() { return threadIdx.x % kSetThreads<Config> == 0; }

/** Starts loading a residual's tile. By one thread. */
template <class Config>
__device__ __forceinline__ void matmul_load_residual(const MatmulSm90Params& p, const TensorMap& map, const MatmulTileIndex& index,
                                                     uint32_t staging, uint32_t barrier) {
  const PixelBox box = tile_box<Config>(p, index.m);
  ptx::mbarrier_arrive_expect_tx(barrier, p.aBytes / 2 * Config::kSteps);
#pragma unroll
  for (int step = 0; step < Config::kSteps; ++step)
    ptx::tma_load_5d(staging + step * Config::kStepBytes, &map, barrier, index.n * Config::kOutColumns + step * 32, box.w, box.h, box.f,
                     box.b);
}

/** Asks L2 for a residual's tile, whose place in staging is still taken. By one thread. */
template <class Config> __device__ __forceinline__ void matmul_prefetch_residual(const MatmulSm90Params& p, const MatmulTileIndex& index) {
  if (p.epilogue.residual == nullptr) return;
  const PixelBox box = tile_box<Config>(p, index.m);
#pragma unroll
  for (int step = 0; step < Config::kSteps; ++step)
    ptx::tma_prefetch_5d(&p.residual, index.n * Config::kOutColumns + step * 32, box.w, box.h, box.f, box.b);
}

/** Before a tile: waits until its staging may be filled, and starts loading the residual into it. By one thread. */
template <class Config>
__device__ __forceinline__ void matmul_open_staging(const MatmulSm90Params& p, const MatmulTileIndex& index, uint32_t staging,
                                                    uint32_t barrier) {
  ptx::bulk_wait_read();
  if (p.epilogue.residual != nullptr) matmul_load_residual<Config>(p, p.residual, index, staging, barrier);
}

/** acc = outScale · (products + bias) + the residual that has arrived: what a second residual is added to. */
template <class Config>
__device__ __forceinline__ void matmul_fold_residual(const MatmulSm90Params& p,
                                                     float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                     int rowOffset, const float* bias, uint32_t staging) {
  const MatmulStaging place = matmul_staging(staging + (rowOffset + threadIdx.x % 128 / 32 * 16) * 64);
  constexpr int kGroups = Config::kWidth / 32;
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
    for (int step = 0; step < Config::kSteps; ++step) {
      float2 values[4][2];
      float (&products)[Config::kWidth / 2] = acc[m][step / kGroups];
      matmul_sums<Config>(p.epilogue, products, step % kGroups, bias + step * 32, values);
      uint32_t r[2][4];
      ptx::ldmatrix_x4(r[0], place.fragment + step * Config::kStepBytes + m * 64 * 64);
      ptx::ldmatrix_x4(r[1], place.fragment2 + step * Config::kStepBytes + m * 64 * 64);
      matmul_add_fragments<typename Config::T>(r, p.epilogue.residualScale, values);
#pragma unroll
      for (int block = 0; block < 4; ++block)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          products[(step % kGroups * 4 + block) * 4 + 2 * part] = values[block][part].x;
          products[(step % kGroups * 4 + block) * 4 + 2 * part + 1] = values[block][part].y;
        }
    }
}

/** Sums that are already in the accumulators. */
template <class Config>
__device__ __forceinline__ void matmul_folded(const float (&acc)[Config::kWidth / 2], int group, float2 (&values)[4][2]) {
#pragma unroll
  for (int block = 0; block < 4; ++block)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const float* v = acc + (group * 4 + block) * 4 + 2 * part;
      values[block][part] = make_float2(v[0], v[1]);
    }
}

/** What is in staging besides the products, and how far those have come. */
enum MatmulStagedTail : int { kStagedBias, kStagedResidual, kStagedSecond };

template <class Config, int kTail>
__device__ __forceinline__ void matmul_fill_staging(const MatmulSm90Params& p,
                                                    const float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                    int rowOffset, const float* bias, uint32_t staging) {
  using T = typename Config::T;
  constexpr int kGroups = Config::kWidth / (Config::kGeglu ? 64 : 32);
  const MatmulStaging place = matmul_staging(staging + (rowOffset + threadIdx.x % 128 / 32 * 16) * 64);
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
    for (int step = 0; step < Config::kSteps; ++step) {
      const uint32_t offset = step * Config::kStepBytes + m * 64 * 64;
      float2 values[4][2];
      if constexpr (kTail == kStagedSecond) matmul_folded<Config>(acc[m][step / kGroups], step % kGroups, values);
      else matmul_sums<Config>(p.epilogue, acc[m][step / kGroups], step % kGroups, bias + step * 32, values);
      if constexpr (kTail != kStagedBias) {
        uint32_t r[2][4];
        ptx::ldmatrix_x4(r[0], place.fragment + offset);
        ptx::ldmatrix_x4(r[1], place.fragment2 + offset);
        matmul_add_fragments<T>(r, kTail == kStagedSecond ? p.epilogue.residual2Scale : p.epilogue.residualScale, values);
      }
      matmul_put_fragments<T>(values, place.fragment + offset, place.fragment2 + offset);
    }
}

/** Starts storing what all threads of the set have put into staging. */
template <class Config>
__device__ __forceinline__ void matmul_send_staging(const MatmulSm90Params& p, const MatmulTileIndex& index, int group, uint32_t staging) {
  ptx::fence_proxy_async();
  matmul_set_barrier<Config>(group);
  if (matmul_first_of_set<Config>()) matmul_store_boxes<Config>(p, index, staging);
}

/** After the products: results to staging. parity: of the residual's next arrival. */
template <class Config>
__device__ __forceinline__ void matmul_stage(const MatmulSm90Params& p,
                                             float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                             const MatmulTileIndex& index, int group, int rowOffset, const float* bias, uint32_t staging,
                                             uint32_t barrier, uint32_t& parity) {
  if (p.epilogue.residual == nullptr) {
    matmul_fill_staging<Config, kStagedBias>(p, acc, rowOffset, bias, staging);
  } else {
    ptx::mbarrier_wait(barrier, parity);
    parity ^= 1;
    if (Config::kGeglu || p.epilogue.residual2 == nullptr) {
      matmul_fill_staging<Config, kStagedResidual>(p, acc, rowOffset, bias, staging);
    } else if constexpr (!Config::kGeglu) {
      matmul_fold_residual<Config>(p, acc, rowOffset, bias, staging);
      matmul_set_barrier<Config>(group);  // everyone has read the first
      if (matmul_first_of_set<Config>()) matmul_load_residual<Config>(p, p.residual2, index, staging, barrier);
      ptx::mbarrier_wait(barrier, parity);
      parity ^= 1;
      matmul_fill_staging<Config, kStagedSecond>(p, acc, rowOffset, bias, staging);
    }
  }
  ptx::fence_proxy_async();
}

/** The same, and from there to memory. */
template <class Config>
__device__ __forceinline__ void matmul_store_staged(const MatmulSm90Params& p,
                                                    float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                    const MatmulTileIndex& index, int group, int rowOffset, const float* bias,
                                                    uint32_t staging, uint32_t barrier, uint32_t& parity) {
  matmul_stage<Config>(p, acc, index, group, rowOffset, bias, staging, barrier, parity);
  matmul_set_barrier<Config>(group);
  if (matmul_first_of_set<Config>()) matmul_store_boxes<Config>(p, index, staging);
}

/** Named barriers between the consumers of a wide tile, the warp that loads residuals into staging and stores from it, and the threads
 *  that find moments; each consumer warpgroup has one that tells it that its rows of staging are free. */
enum MatmulWideBarrier : int { kStagingFree = 5, kStagingFull = 7, kStagingRead, kBiasRead };
inline constexpr int kFreeThreads = 128 + 32;
/** The first of the warps that have nothing to do but to find moments, and their threads. */
inline constexpr int kMeasuringWarp = 10, kMeasuringThreads = 64;
/** Threads that meet where staging is full: those of the consumers and of the storing warp, and kMeasuring others. */
template <class Config, int kMeasuring> inline constexpr int kFullThreads = 256 + 32 + (Config::kMoments ? kMeasuring : 0);

/** A warpgroup's tile of biases, which stays while tiles have the same columns and no bias of their frame. */
template <class Config> struct MatmulBiasTile {
  float* at;
  int column = -1;
  __device__ __forceinline__ void renew(const MatmulSm90Params& p, const MatmulTileIndex& index, int group) {
    if (column == index.n && p.epilogue.frameBias == nullptr) return;
    if (column >= 0) ptx::named_barrier(kBiasRead + group, 128);  // nobody reads that of the tile before
    column = index.n;
    matmul_load_bias<Config>(p, index, at, group);
  }
};

/** The warps that find the moments of wide tiles, beside the next tile's products. */
template <class Config>
__device__ __forceinline__ void matmul_measure_wide_tiles(const MatmulSm90Params& p, int rank, int numTiles, uint32_t staging) {
#pragma unroll 1
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
    ptx::named_barrier(kStagingFull, kFullThreads<Config, kMeasuringThreads>);
    matmul_measure_staged<Config, kMeasuringThreads / 32>(p, index, staging, threadIdx.x / 32 - kMeasuringWarp);
    __syncwarp();
    ptx::named_barrier_arrive(kStagingRead, kMeasuringThreads + 32);
  }
}

/** The storing warp of wide tiles. The next tile's products begin while it waits for the copy engine. kMeasuring: threads that find
 *  moments besides the consumers, or 0: the consumers do, and so also wait for each other. */
template <class Config, int kMeasuring>
__device__ __forceinline__ void matmul_store_wide_tiles(const MatmulSm90Params& p, int rank, int numTiles, uint32_t staging,
                                                        uint32_t barrier) {
  const bool first = (threadIdx.x & 31) == 0;
#pragma unroll 1
  for (int tile = blockIdx.x / Config::kCluster; tile < numTiles; tile += gridDim.x / Config::kCluster) {
    const MatmulTileIndex index = matmul_tile_index<Config>(p, tile, rank);
    if (first && p.epilogue.residual != nullptr) matmul_load_residual<Config>(p, p.residual, index, staging, barrier);
    __syncwarp();
    for (int group = 0; group < 2; ++group) ptx::named_barrier_arrive(kStagingFree + group, kFreeThreads);
    ptx::named_barrier(kStagingFull, kFullThreads<Config, kMeasuring>);
    if (first) {
      matmul_store_boxes<Config>(p, index, staging);
      ptx::bulk_wait_read();
    }
    __syncwarp();
    if constexpr (Config::kMoments) ptx::named_barrier(kStagingRead, (kMeasuring > 0 ? kMeasuring : 256) + 32);
  }
  if (first) ptx::bulk_wait();
}

}  // namespace vd::device
