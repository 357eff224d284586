// The Hopper matrix core for short reductions (five blocks of 64 channels): rows stay in registers, weights stream.
//
// With 320 channels a tile is done before its results are: what counts is how little passes through shared memory and how
// well results hide behind products. Here each of two consumer warpgroups keeps 64 rows of A, all 320 channels, as
// fragments in 80 registers for as many tiles of columns as its block has, so that a product reads B alone. The rows come
// through the same ring as the weights. The warpgroups multiply in turn, so that one's results run beside the other's products;
// each has its own staging, twice. (Left to themselves they fall into step whenever rows are loaded, and both wait for both.)
//
//   ring:  A0 A1 A2 A3 A4 | B(n0,k0) ... B(n0,k4) | B(n1,k0) ... | A of the next rows ...
//
// Per tile of 128x128 through shared memory: 240 KiB of reads for products and 160 KiB of loads with both operands there
// (matmul_sm90.cuh), 160 and 80 here, where the tensor cores take 2560 cycles and shared memory moves 128 bytes in each.
//
// A row's channels lie in the registers of four threads, so a LayerNorm in front of the layer takes no memory: four threads add up,
// and each rounds what it has again, to numbers of the rows' type or to float8 codes, which are half as many registers. A thread then has
// four channels beside each other, as products of codes want them. Gated activations take longer than products of codes: three warpgroups
// take turns there.
#pragma once
#include "matmul_sm90.cuh"
#include "reduce.cuh"

namespace vd::device {

/** Blocks of 64 channels that a warpgroup's registers hold. */
inline constexpr int kRowsKBlocks = kRowsChannels / 64;

/** One variant: element type, index into kMatmulTiles, whether the activation is gated, and whether by silu, not gelu; the type of what is
 *  multiplied. A warpgroup's tile is 64 rows. */
template <class T_, int kTileIndex, bool kGeglu_, bool kSwiglu_ = false, class Operand_ = T_> struct RowsConfig {
  using T = T_;
  using Operand = Operand_;
  static constexpr MatmulTile kTile = kMatmulTiles[kTileIndex];
  static constexpr int kTileM = 64, kTileN = kTile.tileN, kWidth = kTile.width, kStages = kTile.stages, kCluster = kTile.cluster;
  static constexpr bool kPingpong = true, kOwnStaging = true, kGeglu = kGeglu_, kActivation = false, kGeneric = false, kStaged = true,
                        kRowTiles = true;
  static constexpr bool kSwiglu = kSwiglu_, kPhases = false, kStagedActivation = false;
  static constexpr bool kScaled = sizeof(Operand) == 1, kCodes = kTile.codes, kColumnScales = kScaled && !kCodes;
  static constexpr int kBlock = 128 / sizeof(Operand), kWeightBlocks = (kRowsChannels + kBlock - 1) / kBlock;
  static constexpr int kProductSteps = kRowsChannels * sizeof(Operand) / 32;  // of 32 bytes of channels
  static constexpr int kBiases = kTileN * (kColumnScales ? 2 : 1);  // of a tile of columns
  static constexpr int kRowBlocks = 1, kColBlocks = 1, kHalfN = kTileN / 2;
  static constexpr int kGroups = rows_groups(kTile);  // warpgroups that multiply
  static constexpr int kRowBytes = kGroups * kTileM * 128;  // of a stage that holds all warpgroups' rows
  static constexpr int kWeightBytes = kTileN * 128, kStageBytes = kWeightBytes > kRowBytes ? kWeightBytes : kRowBytes;
  static constexpr int kOutColumns = kTileN / (kGeglu ? 2 : 1), kStepColumns = kCodes ? 64 : 32, kSteps = kOutColumns / kStepColumns;
  static constexpr int kStepBytes = kTileM * 64, kStagingBytes = kSteps * kStepBytes;
  static constexpr bool kNormed = kTile.kernel == MatmulKernel::token_rows;
  static constexpr int kNormBytes = token_norm_bytes(kTile);
  static_assert(kTileN == kWidth && kWidth % (kGeglu ? 64 : 32) == 0, "one product covers the tile");
  static_assert(kScaled == kTile.rounds, "rows become codes of the weights' type");
};

/** Shared memory: stages, two stagings for each warpgroup, weights and biases of the norm, barriers, biases of all columns. */
template <class Config> struct RowsShared {
  uint32_t ring;
  __device__ __forceinline__ uint32_t stage(int s) const { return ring + s * Config::kStageBytes; }
  __device__ __forceinline__ uint32_t staging(int group, int turn) const {
    return stage(Config::kStages) + (group * 2 + turn) * Config::kStagingBytes;
  }
  /** Of each pair of channels two weights, then two biases. */
  __device__ __forceinline__ uint32_t norm() const { return staging(Config::kGroups, 0); }
  __device__ __forceinline__ uint32_t full_at(int s) const { return norm() + Config::kNormBytes + 8 * s; }
  __device__ __forceinline__ uint32_t empty_at(int s) const { return full_at(Config::kStages + s); }
  __device__ __forceinline__ uint32_t residual_at(int group, int turn) const { return full_at(2 * Config::kStages + group * 2 + turn); }
  __device__ __forceinline__ uint32_t biases() const { return full_at(2 * Config::kStages + 2 * Config::kGroups); }
};

/** The barrier at which a warpgroup waits for its turn to multiply is this one and its number further on; two meet there. */
inline constexpr int kRowsTurn = 8, kRowsTurnThreads = 256;

/** What a cluster does next: rows `rows`, counted in as many as its blocks take at once, and tiles of columns [first, last). */
struct RowsItem {
  int rows, first, last;
};
__device__ __forceinline__ RowsItem rows_item(const MatmulSm90Params& p, int item) {
  const int part = item % p.numParts, first = part * p.numNTiles / p.numParts;
  return {item / p.numParts, first, (part + 1) * p.numNTiles / p.numParts};
}
template <class Config> __device__ __forceinline__ int rows_num_items(const MatmulSm90Params& p) {
  constexpr int kAtOnce = Config::kGroups * Config::kCluster;
  return (p.numMTiles + kAtOnce - 1) / kAtOnce * p.numParts;
}

/** The producer thread. */
template <class Config>
__device__ __forceinline__ void rows_produce(const MatmulSm90Params& p, const RowsShared<Config>& shared, int rank) {
  RingCursor<Config::kStages> at{0, 1};
#pragma unroll 1
  for (int i = blockIdx.x / Config::kCluster; i < rows_num_items<Config>(p); i += gridDim.x / Config::kCluster) {
    const RowsItem item = rows_item(p, i);
    const int row = (item.rows * Config::kCluster + rank) * Config::kGroups * Config::kTileM;
#pragma unroll 1
    for (int k = 0; k < kRowsKBlocks; ++k) {
      await_free(shared, at);
      const uint32_t full = expect_bytes(shared, at, Config::kRowBytes);
      ptx::tma_load_5d(shared.stage(at.stage), &p.a, full, k * 64, row, 0, 0, 0);
      at.advance();
    }
#pragma unroll 1
    for (int n = item.first; n < item.last; ++n)
#pragma unroll 1
      for (int k = 0; k < Config::kWeightBlocks; ++k) {
        await_free(shared, at);
        const uint32_t full = expect_bytes(shared, at, Config::kWeightBytes);
        matmul_load_b<Config>(p, shared.stage(at.stage), full, k * Config::kBlock, 0, n * Config::kTileN, 0, rank);
        at.advance();
      }
  }
}

/** The warpgroup's 64 rows as fragments, 16 channels each: two neighbouring ones of the row at lane / 4, of the row 8 further on, and two
 *  more of each. */
using RowFragments = uint32_t[kRowsKBlocks * 4][4];

/** Which pair of channels a thread's registers 2 * half and 2 * half + 1 of a fragment hold: as products of 16 bits want them, or four
 *  channels beside each other, as those of codes do. */
template <class Config> __device__ __forceinline__ int rows_pair(int step, int half) {
  const int lane = threadIdx.x & 3;
  return step * 8 + (Config::kScaled ? 2 * lane + half : half * 4 + lane);
}

/** A fragment of this warp's rows in a block of 64 channels. */
template <class Config> __device__ __forceinline__ void rows_load_fragment(uint32_t (&a)[4], uint32_t stage, int firstRow, int step) {
  const int lane = threadIdx.x & 31;
  if constexpr (Config::kScaled) {
    const int row = firstRow + lane / 4, chunk = 2 * step + (lane & 3) / 2;  // rows 8 apart have the same swizzle
    const uint32_t at = stage + row * 128 + ((chunk ^ (row & 7)) << 4) + (lane & 1) * 8;
    const uint2 first = ptx::load_shared8_words(at), second = ptx::load_shared8_words(at + 8 * 128);
    a[0] = first.x;
    a[1] = second.x;
    a[2] = first.y;
    a[3] = second.y;
  } else {
    const int row = firstRow + (lane & 15);
    ptx::ldmatrix_x4(a, stage + row * 128 + (((2 * step + (lane >> 4)) ^ (row & 7)) << 4));
  }
}

template <class Config>
__device__ __forceinline__ void rows_load(RowFragments& a, const RowsShared<Config>& shared, int group, RingCursor<Config::kStages>& at) {
  const int firstRow = group * 64 + threadIdx.x % 128 / 32 * 16;
#pragma unroll
  for (int k = 0; k < kRowsKBlocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
#pragma unroll
    for (int step = 0; step < 4; ++step) rows_load_fragment<Config>(a[4 * k + step], shared.stage(at.stage), firstRow, step);
    __syncwarp();
    release_stage<Config::kCluster>(shared.empty_at(at.stage));
    at.advance();
  }
}

/** Calls body(a) for all registers of the rows at lane / 4 (kPart 0) and 8 further on (1). */
template <int kPart, class Body> __device__ __forceinline__ void for_each_pair(const RowFragments& a, Body&& body) {
#pragma unroll
  for (int step = 0; step < kRowsKBlocks * 4; ++step)
#pragma unroll
    for (int half = 0; half < 2; ++half) body(a[step][2 * half + kPart]);
}

/** The mean of a row, and 1 / sqrt(variance + eps): sums over registers, then over the four threads of the row. */
template <class T, int kPart> __device__ __forceinline__ float2 row_moments(const RowFragments& a, float eps) {
  float2 sum = make_float2(0.0f, 0.0f), square = sum;
  for_each_pair<kPart>(a, [&](uint32_t x) {
    const float2 v = unpack2<T>(x);
    sum = make_float2(sum.x + v.x, sum.y + v.y);
  });
  const float mean = sum_lanes<4>(sum.x + sum.y) / kRowsChannels;
  for_each_pair<kPart>(a, [&](uint32_t x) {
    const float2 v = unpack2<T>(x), d = make_float2(v.x - mean, v.y - mean);
    square = make_float2(fmaf(d.x, d.x, square.x), fmaf(d.y, d.y, square.y));
  });
  return make_float2(mean, rsqrtf(sum_lanes<4>(square.x + square.y) / kRowsChannels + eps));
}

/** Two channels of a row behind the norm. affine: their weights, then their biases; row: its mean, and 1 / its deviation. */
template <class T> __device__ __forceinline__ float2 row_normalised(uint32_t x, float2 row, const uint4& affine) {
  const float2 v = unpack2<T>(x);
  return make_float2(fmaf((v.x - row.x) * row.y, __uint_as_float(affine.x), __uint_as_float(affine.z)),
                     fmaf((v.y - row.x) * row.y, __uint_as_float(affine.y), __uint_as_float(affine.w)));
}

/** Those of a fragment's registers 2 * half and 2 * half + 1. */
template <class Config> __device__ __forceinline__ uint4 rows_affine(const RowsShared<Config>& shared, int step, int half) {
  return ptx::load_shared16(shared.norm() + rows_pair<Config>(step, half) * 16);
}

/** Normalises the rows where they are. */
template <class Config> __device__ __forceinline__ void rows_normalise(RowFragments& a, const RowsShared<Config>& shared, float eps) {
  using T = typename Config::T;
  const float2 rows[2] = {row_moments<T, 0>(a, eps), row_moments<T, 1>(a, eps)};
#pragma unroll
  for (int step = 0; step < kRowsKBlocks * 4; ++step)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint4 affine = rows_affine<Config>(shared, step, half);
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const float2 v = row_normalised<T>(a[step][2 * half + part], rows[part], affine);
        a[step][2 * half + part] = pack2<T>(v.x, v.y);
      }
    }
}

/** The rows as fragments of products. */
template <class Config> using RowOperands = uint32_t[Config::kProductSteps][4];

/** Codes of the normalised rows. */
template <class Config>
__device__ __forceinline__ void rows_round(const RowFragments& a, RowOperands<Config>& codes, const RowsShared<Config>& shared, float eps) {
  using T = typename Config::T;
  const float2 rows[2] = {row_moments<T, 0>(a, eps), row_moments<T, 1>(a, eps)};
#pragma unroll
  for (int step = 0; step < kRowsKBlocks * 4; ++step) {
    const uint4 affine[2] = {rows_affine<Config>(shared, step, 0), rows_affine<Config>(shared, step, 1)};
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const float2 first = row_normalised<T>(a[step][part], rows[part], affine[0]);
      const float2 second = row_normalised<T>(a[step][2 + part], rows[part], affine[1]);
      const float v[4] = {first.x, first.y, second.x, second.y};
      codes[step / 2][step % 2 * 2 + part] = pack_codes4<typename Config::Operand>(v);
    }
  }
}

/** Fills the table of the norm's weights and biases, times `factor`, by the first threads of the block. */
__device__ __forceinline__ void rows_load_norm(const float* weight, const float* bias, float factor, float* table, int threads) {
  for (int c = threadIdx.x; c < kRowsChannels; c += threads) {
    float* at = table + c / 2 * 4 + c % 2;
    at[0] = factor * (weight != nullptr ? __ldg(weight + c) : 1.0f);
    at[2] = factor * (bias != nullptr ? __ldg(bias + c) : 0.0f);
  }
}

/** acc = rows · Bᵀ of one tile of columns; then the next warpgroup may multiply, if `handOver`. */
template <class Config>
__device__ __forceinline__ void rows_accumulate(float (&acc)[Config::kWidth / 2], const RowOperands<Config>& a,
                                                const RowsShared<Config>& shared, int group, RingCursor<Config::kStages>& at,
                                                bool handOver) {
  using Product = ptx::WgmmaRegisters<typename Config::Operand, Config::kWidth, 0>;
  int previous = 0;
#pragma unroll
  for (int k = 0; k < Config::kWeightBlocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    const uint64_t b = ptx::matrix_descriptor(shared.stage(at.stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4 && 4 * k + step < Config::kProductSteps; ++step)
      Product::run(acc, a[4 * k + step], b + step * 2, k > 0 || step > 0);
    ptx::wgmma_commit();
    if (k > 0) {
      ptx::wgmma_wait<1>();
      release_stage<Config::kCluster>(shared.empty_at(previous));
    }
    previous = at.stage;
    at.advance();
  }
  if (handOver) ptx::named_barrier_arrive(kRowsTurn + (group + 1) % Config::kGroups, kRowsTurnThreads);
  ptx::wgmma_wait<0>();
  release_stage<Config::kCluster>(shared.empty_at(previous));
}

/** Where a warpgroup stands in its two stagings. */
struct RowsTurn {
  int which = 0;
  uint32_t parity = 0;  // of the residual's next arrival
  __device__ __forceinline__ void advance() {
    which ^= 1;
    if (which == 0) parity ^= 1;
  }
};

/** Starts loading the residual of a tile into the staging of turn `which`, whose last store has been read. By one thread. */
template <class Config>
__device__ __forceinline__ void rows_open(const MatmulSm90Params& p, const RowsShared<Config>& shared, const MatmulTileIndex& index,
                                          int group, int which) {
  if (p.epilogue.residual != nullptr)
    matmul_load_residual<Config>(p, p.residual, index, shared.staging(group, which), shared.residual_at(group, which));
}

/** Results of a tile to staging, then to memory; opens the other staging for the tile `next` (n < 0: there is none). */
template <class Config>
__device__ __forceinline__ void rows_store(const MatmulSm90Params& p, const RowsShared<Config>& shared,
                                           float (&acc)[1][1][Config::kWidth / 2], const MatmulTileIndex& index,
                                           const MatmulTileIndex& next, int group, const float* bias,
                                           const MatmulCodeScale<Config>& codeScale, RowsTurn& turn) {
  const uint32_t staging = shared.staging(group, turn.which);
  if constexpr (Config::kCodes) {
    matmul_fill_codes<Config, true>(acc, {}, codeScale, bias, staging);
  } else if (p.epilogue.residual == nullptr) {
    matmul_fill_staging<Config, kStagedBias>(p, acc, 0, bias, staging);
  } else {
    ptx::mbarrier_wait(shared.residual_at(group, turn.which), turn.parity);
    matmul_fill_staging<Config, kStagedResidual>(p, acc, 0, bias, staging);
  }
  ptx::fence_proxy_async();
  if (matmul_first_of_set<Config>()) ptx::bulk_wait_read();  // the tile before has left the other staging
  matmul_set_barrier<Config>(group);
  if (matmul_first_of_set<Config>()) {
    const PixelBox box = tile_box<Config>(p, index.m);
#pragma unroll
    for (int step = 0; step < Config::kSteps; ++step)
      ptx::tma_store_5d(&p.y, staging + step * Config::kStepBytes, index.n * Config::kOutColumns + step * Config::kStepColumns, box.w,
                        box.h, box.f, box.b);
    ptx::bulk_commit();
    if (next.n >= 0) rows_open<Config>(p, shared, next, group, turn.which ^ 1);
  }
  turn.advance();
}

/** A consumer warpgroup: all tiles of its rows. */
template <class Config>
__device__ __forceinline__ void rows_consume(const MatmulSm90Params& p, const RowsShared<Config>& shared, int group, int rank,
                                             const float* biases, const MatmulCodeScale<Config>& codeScale, float eps) {
  const int numItems = rows_num_items<Config>(p), stride = gridDim.x / Config::kCluster;
  RingCursor<Config::kStages> at{0, 0};
  RowsTurn turn;
  RowOperands<Config> a;
  float acc[1][1][Config::kWidth / 2];
  bool isFirst = true;
#pragma unroll 1
  for (int i = blockIdx.x / Config::kCluster; i < numItems; i += stride) {
    const RowsItem item = rows_item(p, i);
    const int m = (item.rows * Config::kCluster + rank) * Config::kGroups + group;
    if (isFirst && matmul_first_of_set<Config>()) rows_open<Config>(p, shared, {item.first, 0, m}, group, 0);
    if constexpr (Config::kScaled) {
      RowFragments rows;
      rows_load<Config>(rows, shared, group, at);
      rows_round<Config>(rows, a, shared, eps);
    } else {
      rows_load<Config>(a, shared, group, at);
      if constexpr (Config::kNormed) rows_normalise<Config>(a, shared, eps);
    }
#pragma unroll 1
    for (int n = item.first; n < item.last; ++n) {
      MatmulTileIndex next{n + 1, 0, m};
      if (n + 1 == item.last) {
        const RowsItem following = rows_item(p, i + stride);
        next = {i + stride < numItems ? following.first : -1, 0, (following.rows * Config::kCluster + rank) * Config::kGroups + group};
      }
      if (!isFirst || group > 0) ptx::named_barrier(kRowsTurn + group, kRowsTurnThreads);
      isFirst = false;
      rows_accumulate<Config>(acc[0][0], a, shared, group, at, group + 1 < Config::kGroups || next.n >= 0);
      rows_store<Config>(p, shared, acc, {n, 0, m}, next, group, biases + n * Config::kBiases, codeScale, turn);
    }
  }
  if (matmul_first_of_set<Config>()) ptx::bulk_wait();
}

/** The block. norm: of normed tiles, else null. */
template <class Config> __device__ __forceinline__ void matmul_rows(const MatmulSm90Params& p, const MatmulTokenNormParams* norm) {
  extern __shared__ uint8_t dynamicShared[];
  const uint32_t base = ptx::warp_uniform(shared_address(dynamicShared));
  RowsShared<Config> shared;
  shared.ring = (base + 1023) & ~1023u;
  float* biases = reinterpret_cast<float*>(dynamicShared + (shared.biases() - base));
  const int rank = static_cast<int>(ptx::cluster_block_rank());
  if (threadIdx.x == 0) {
    for (int s = 0; s < Config::kStages; ++s) {
      ptx::mbarrier_init(shared.full_at(s), 1);
      ptx::mbarrier_init(shared.empty_at(s), 4 * Config::kGroups * Config::kCluster);
    }
    for (int i = 0; i < 2 * Config::kGroups; ++i) ptx::mbarrier_init(shared.residual_at(i / 2, i % 2), 1);
    ptx::fence_mbarrier_init();
  }
  const int warpgroup = ptx::warpgroup_index();
  if constexpr (Config::kNormed) {
    float* table = reinterpret_cast<float*>(dynamicShared + (shared.norm() - base));
    const float factor = Config::kScaled ? 1.0f / __ldg(norm->codeScale) : 1.0f;
    if (warpgroup < Config::kGroups) rows_load_norm(norm->normWeight, norm->normBias, factor, table, 128 * Config::kGroups);
  }
  const MatmulCodeScale<Config> codeScale(p);
  if (warpgroup < Config::kGroups)
    for (int n = warpgroup; n < p.numNTiles; n += Config::kGroups)
      MatmulBiasPart<Config>(p, {n, 0, p.numMTiles}, codeScale.value).put(biases + n * Config::kBiases);
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();

  if (warpgroup == Config::kGroups) {
    ptx::registers_lower<24>();
    if (threadIdx.x == 128 * Config::kGroups) rows_produce<Config>(p, shared, rank);
  } else {
    ptx::registers_raise<Config::kGroups == 2 ? 240 : 160>();
    rows_consume<Config>(p, shared, warpgroup, rank, biases, codeScale, Config::kNormed ? norm->eps : 0.0f);
  }
  // A block may not leave while others still signal its barriers or write its stages.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

template <class Config> __device__ __forceinline__ void matmul_sm90_rows(const MatmulSm90Params& p) { matmul_rows<Config>(p, nullptr); }

template <class Config> __device__ __forceinline__ void matmul_sm90_token_rows(const MatmulTokenNormParams& p) {
  matmul_rows<Config>(p.matmul, &p);
}

}  // namespace vd::device
