// Products of 8-bit operands on the Hopper matrix core: what their scales make of the tensor cores' sums.
//
// Sums of float8 products have about 14 bits in the tensor cores, so sums of a few blocks are promoted: added to float32
// registers. So are sums of integers in large tiles: turned into floats at the end, 128 of them would need twice the registers. A warpgroup
// then holds both; of tiles whose sums would not fit twice it promotes one part after the other, while the other warpgroup has the tensor
// cores. With scales for each block the same addition multiplies by them. Additions take the tensor cores' time even so: wide tiles of
// float8 add up as long as one sum may be, and fold what they have: into pairs of float16, half as many registers.
//
//   m128n192p  96 + 96 registers, a promotion every 512 of the reduction
//   m256n128p  two parts of 64 rows: 128 + 64 registers, a promotion of each every 128
//   m128n256p  two parts of 128 columns
//   m128n128psp  each warpgroup a tile of its own: two parts of 64 rows, a promotion of each every 640
//   m128n256w, m256n128w  128 sums, 64 pairs of those before, in equal parts of up to 1280
//   m128n160w  80 sums and 40 pairs
#pragma once
#include <type_traits>

#include "matmul_scales.cuh"
#include "matmul_sm90_tile.cuh"
#include "ptx/load.cuh"
#include "ptx/matrix_descriptor.cuh"
#include "ptx/wgmma.cuh"
#include "ring_sm90.cuh"
#include "vec.cuh"

namespace vd::device {

template <class Config> struct MatmulShared;
template <class Config, class Sum>
__device__ __forceinline__ void matmul_accumulate(Sum (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                  const MatmulShared<Config>& shared, int rowOffset, uint32_t count, int numKBlocks,
                                                  int handOver);

/** Row of the weights behind column `column` of the 8 columns `block` of a tile, and how many rows are in its range. */
template <class Config> __device__ __forceinline__ int matmul_weight_row(const Epilogue& e, int tileN, int block, int column, int& end) {
  if constexpr (Config::kGeglu) {
    end = (block & 1) * e.n + e.n;
    return (block & 1) * e.n + tileN * (Config::kTileN / 2) + (block >> 1) * 8 + column;
  } else {
    end = e.n;
    return tileN * Config::kTileN + block * 8 + column;
  }
}

/** Where the scales of this thread's rows of a tile begin: two for each block of 64 rows. */
template <class Config> struct MatmulRowScales {
  const float* at[Config::kRowBlocks][2];

  /** That of a row of any tile. */
  __device__ __forceinline__ static const float* of_pixel(const MatmulSm90Params& p, const PixelBox& box, const MatmulTileIndex& index,
                                                          int row) {
    int64_t pixel = box.w + row < p.out[2] ? box.w + row : -1;  // of plain rows
    if constexpr (!Config::kRowTiles) pixel = matmul_pixel(p, box, index.phase, index.m < p.numMTiles, row);
    return pixel < 0 ? p.scales.x : pixel_scale(p.scales, p.epilogue, pixel);
  }
  __device__ __forceinline__ MatmulRowScales(const MatmulSm90Params& p, const MatmulTileIndex& index, int rowOffset) {
    const PixelBox box = tile_box<Config>(p, index.m);
    const int row0 = rowOffset + (threadIdx.x % 128 / 32) * 16 + (threadIdx.x & 31) / 4;
    // Nothing is decided row by row where scales lie as rows do: this stands in front of each tile's products.
    const bool plain = Config::kRowTiles && p.scales.pixelStride >= 0;
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const int row = row0 + 64 * m + 8 * part;
        if (plain) at[m][part] = p.scales.x + min(box.w + row, p.out[2] - 1) * p.scales.pixelStride;
        else at[m][part] = of_pixel(p, box, index, row);
      }
  }
};

/** What the tensor cores add up in. */
template <class Config> using MatmulSum = std::conditional_t<std::is_same_v<typename Config::Operand, int8_t>, int32_t, float>;

/** A sum of integers as float32. In the order of the program, so that a register becomes free before the next one is needed. */
__device__ __forceinline__ float matmul_float(int32_t sum) {
  float v;
  asm volatile("cvt.rn.f32.s32 %0, %1;" : "=f"(v) : "r"(sum));
  return v;
}
__device__ __forceinline__ float matmul_float(float sum) { return sum; }

/** The scales of a tile that all blocks of the reduction share, in registers: they are loaded before the products, so that nobody waits
 *  for memory behind those. A thread has those of its rows; those of 32 columns lie in the lanes of a warp. Nothing where operands
 *  have no scales, blocks have scales of their own, or the tail has those of columns. */
template <class Config, bool kThere = Config::kScaled && !Config::kTile.blocked && !Config::kColumnScales> struct MatmulTileScales {
  __device__ __forceinline__ void load(const MatmulSm90Params&, const MatmulTileIndex&, int) {}
};
template <class Config> struct MatmulTileScales<Config, true> {
  float row[Config::kRowBlocks][2];
  float columns[Config::kTileN / 32];

  __device__ __forceinline__ void load(const MatmulSm90Params& p, const MatmulTileIndex& index, int rowOffset) {
    const MatmulRowScales<Config> rows(p, index, rowOffset);
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
      for (int part = 0; part < 2; ++part) row[m][part] = ptx::load_here(rows.at[m][part]);
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int word = 0; word < Config::kTileN / 32; ++word) {
      int end;
      const int weightRow = matmul_weight_row<Config>(p.epilogue, index.n, word * 4 + lane / 8, lane & 7, end);
      columns[word] = ptx::load_here(p.scales.weight + min(weightRow, end - 1) * p.scales.weightStride);
    }
  }
  /** Those of this lane's two of the 8 columns `block` of the tile. By all lanes of a warp. */
  __device__ __forceinline__ float2 column(int block) const {
    const int source = block % 4 * 8 + 2 * (threadIdx.x & 3);
    return make_float2(__shfl_sync(0xffffffffu, columns[block / 4], source), __shfl_sync(0xffffffffu, columns[block / 4], source + 1));
  }
};

/** acc *= scales, which are the same for all blocks of the reduction. */
template <class Config>
__device__ __forceinline__ void matmul_scale(const MatmulTileScales<Config>& scales,
                                             float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2]) {
#pragma unroll
  for (int n = 0; n < Config::kColBlocks; ++n)
#pragma unroll
    for (int block = 0; block < Config::kWidth / 8; ++block) {
      const float2 column = scales.column(n * (Config::kWidth / 8) + block);
#pragma unroll
      for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const int at = block * 4 + 2 * part;
          acc[m][n][at] *= scales.row[m][part] * column.x;
          acc[m][n][at + 1] *= scales.row[m][part] * column.y;
        }
    }
}

/** Scales of one block of the reduction for this thread's part of a tile; nothing where all blocks share them. */
template <class Config, bool kBlocked> struct MatmulBlockScales {
  __device__ __forceinline__ MatmulBlockScales(const MatmulSm90Params&, const MatmulTileIndex&, int) {}
  __device__ __forceinline__ void load(const MatmulSm90Params&, const MatmulTileIndex&, int, int, int) {}
  __device__ __forceinline__ float add(float sum, float part, int) const { return sum + part; }
};
template <class Config> struct MatmulBlockScales<Config, true> {
  MatmulRowScales<Config> rows;
  float row[2];
  float2 column[Config::kWidth / 8];

  __device__ __forceinline__ MatmulBlockScales(const MatmulSm90Params& p, const MatmulTileIndex& index, int rowOffset)
      : rows(p, index, rowOffset) {}
  /** Those of part (m, n) in block k. */
  __device__ __forceinline__ void load(const MatmulSm90Params& p, const MatmulTileIndex& index, int m, int n, int k) {
#pragma unroll
    for (int part = 0; part < 2; ++part) row[part] = rows.at[m][part][k * p.scales.xBlockStride];
#pragma unroll
    for (int block = 0; block < Config::kWidth / 8; ++block) {
      int end;
      const int column0 = 2 * (threadIdx.x & 3);
      const int weightRow = matmul_weight_row<Config>(p.epilogue, index.n, n * (Config::kWidth / 8) + block, column0, end);
      column[block] = weight_scales(p.scales, weightRow, end, k);
    }
  }
  /** sum + the scaled accumulator `i` of a part. */
  __device__ __forceinline__ float add(float sum, float part, int i) const {
    return fmaf(part, row[i / 2 % 2] * (i % 2 ? column[i / 4].y : column[i / 4].x), sum);
  }
};

/** part = block (m, n) of the products of `blocks` stages from `at` on. first: nobody has waited for these stages; last: nobody will
 *  read them any more. */
template <class Config, class Sum>
__device__ __forceinline__ void matmul_multiply_part(Sum (&part)[Config::kWidth / 2], const MatmulShared<Config>& shared, int rowOffset,
                                                     int m, int n, RingCursor<Config::kStages>& at, int blocks, bool first, bool last) {
  using Product = ptx::Wgmma<typename Config::Operand, Config::kWidth, 0>;
  int previous = 0;
  for (int i = 0; i < blocks; ++i) {
    if (first) ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    const uint64_t a = ptx::matrix_descriptor(shared.a(at.stage) + (rowOffset + 64 * m) * 128);
    const uint64_t b = ptx::matrix_descriptor(shared.b(at.stage) + n * Config::kWidth * 128);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) Product::run(part, a + step * 2, b + step * 2, i > 0 || step > 0);
    ptx::wgmma_commit();
    if (i > 0) {
      ptx::wgmma_wait<1>();
      if (last) release_stage<Config::kCluster>(shared.empty_at(previous));
    }
    previous = at.stage;
    at.advance();
  }
  ptx::wgmma_wait<0>();
  if (last) release_stage<Config::kCluster>(shared.empty_at(previous));
}

/** acc = products over blocks [begin, end) of the reduction, sums of kTile.promote blocks promoted, with the scales of blocks where they
 *  have any. Stages are those from `count` on. */
template <class Config>
__device__ __forceinline__ void matmul_accumulate_promoted(const MatmulSm90Params& p,
                                                           float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                           const MatmulShared<Config>& shared, const MatmulTileIndex& index, int rowOffset,
                                                           uint32_t count, int begin, int end) {
  using Sum = MatmulSum<Config>;
  constexpr int kEvery = Config::kTile.promote;
  static_assert(!Config::kPingpong, "both warpgroups take every stage");
  Sum part[Config::kWidth / 2];
  MatmulBlockScales<Config, Config::kTile.blocked> scales(p, index, rowOffset);
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
    for (int n = 0; n < Config::kColBlocks; ++n)
#pragma unroll
      for (int i = 0; i < Config::kWidth / 2; ++i) acc[m][n][i] = 0.0f;
  RingCursor<Config::kStages> start{static_cast<int>(count % Config::kStages), count / Config::kStages & 1};
#pragma unroll 1
  for (int k = begin; k < end; k += kEvery) {
    const int blocks = min(kEvery, end - k);
    RingCursor<Config::kStages> at = start;
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
      for (int n = 0; n < Config::kColBlocks; ++n) {
        const bool first = m == 0 && n == 0, last = m == Config::kRowBlocks - 1 && n == Config::kColBlocks - 1;
        scales.load(p, index, m, n, k);
        at = start;
        matmul_multiply_part<Config>(part, shared, rowOffset, m, n, at, blocks, first, last);
#pragma unroll
        for (int i = 0; i < Config::kWidth / 2; ++i) acc[m][n][i] = scales.add(acc[m][n][i], matmul_float(part[i]), i);
      }
    start = at;
  }
}

/** True for tiles that add up float8 products of any number of blocks in few registers. */
template <class Config>
inline constexpr bool kFoldsSums = std::is_same_v<typename Config::Operand, __nv_fp8_e4m3> && Config::kWide && Config::kTile.promote == 0;

/** acc (+)= products of the first kSteps · 32 channels of a stage, which is there. */
template <class Config, int kSteps>
__device__ __forceinline__ void matmul_multiply_stage(float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                      const MatmulShared<Config>& shared, int rowOffset, int stage, bool adds) {
  using Product = ptx::Wgmma<typename Config::Operand, Config::kWidth, 0>;
  static_assert(Config::kColBlocks == 1, "one product is as wide as the tile");
  const uint64_t a = ptx::matrix_descriptor(shared.a(stage) + rowOffset * 128), b = ptx::matrix_descriptor(shared.b(stage));
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
      Product::run(acc[m][0], a + m * (64 * 128 >> 4) + step * 2, b + step * 2, adds || step > 0);
  ptx::wgmma_commit();
  // The other warpgroup's products fill the gap, and the stage is free sooner than if the next were asked for first: with five stages of
  // 160 columns, too, that takes 3 to 7 % longer.
  ptx::wgmma_wait<0>();
}

/** Which blocks of the reduction are half zeros: the last of each tap, where its channels fill no more of it. */
struct MatmulHalfBlocks {
  int blocksPerTap;  // or -1 where none is
  int next;  // block of its tap
  __device__ __forceinline__ explicit MatmulHalfBlocks(const MatmulSm90Params& p)
      : blocksPerTap(p.blocksPerTap * 128 - p.channels >= 64 ? p.blocksPerTap : -1), next(0) {}
  /** Whether the next block is one. */
  __device__ __forceinline__ bool take() {
    if (++next != blocksPerTap) return false;
    next = 0;
    return true;
  }
};

/** acc = products of `blocks` stages from `at` on. */
template <class Config>
__device__ __forceinline__ void matmul_multiply_blocks(float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                       const MatmulShared<Config>& shared, int rowOffset, RingCursor<Config::kStages>& at,
                                                       MatmulHalfBlocks& halves, int blocks) {
#pragma unroll 1
  for (int k = 0; k < blocks; ++k) {
    ptx::mbarrier_wait(shared.full_at(at.stage), at.parity);
    if (halves.take()) matmul_multiply_stage<Config, 2>(acc, shared, rowOffset, at.stage, k > 0);
    else matmul_multiply_stage<Config, 4>(acc, shared, rowOffset, at.stage, k > 0);
    release_stage<Config::kCluster>(shared.empty_at(at.stage));
    at.advance();
  }
}

/** Sums of float8 products that wait for those behind them, as pairs of float16: 64 registers for 128 sums. */
template <class Config> struct MatmulFoldedSums {
  static constexpr int kPairs = Config::kWidth / 4;
  uint32_t pairs[Config::kRowBlocks][kPairs];
  float down, up;  // powers of two, so that the largest sum there is fits float16

  __device__ __forceinline__ explicit MatmulFoldedSums(int numKBlocks) {
    constexpr int kLargestBlock = 393;  // 128 products of 448 by 448, divided by the largest float16
    const int bits = 32 - __clz(numKBlocks * kLargestBlock - 1);
    up = __int_as_float((127 + bits) << 23);
    down = __int_as_float((127 - bits) << 23);
  }
  /** Takes sums, those of the first blocks or more of them. */
  template <bool kFirst> __device__ __forceinline__ void add(const float (&acc)[Config::kRowBlocks][1][Config::kWidth / 2]) {
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const float2 before = kFirst ? make_float2(0.0f, 0.0f) : unpack2<__half>(pairs[m][i]);
        pairs[m][i] = pack2<__half>(fmaf(acc[m][0][2 * i], down, before.x), fmaf(acc[m][0][2 * i + 1], down, before.y));
      }
  }
  /** Adds them to the last sums. */
  __device__ __forceinline__ void finish(float (&acc)[Config::kRowBlocks][1][Config::kWidth / 2]) const {
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const float2 before = unpack2<__half>(pairs[m][i]);
        acc[m][0][2 * i] = fmaf(before.x, up, acc[m][0][2 * i]);
        acc[m][0][2 * i + 1] = fmaf(before.y, up, acc[m][0][2 * i + 1]);
      }
  }
};

/** acc = products over the whole reduction, in equal sums of kMostUnpromotedBlocks blocks at most. */
template <class Config>
__device__ __forceinline__ void matmul_accumulate_folded(float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                         const MatmulSm90Params& p, const MatmulShared<Config>& shared, int rowOffset,
                                                         uint32_t count) {
  RingCursor<Config::kStages> at{static_cast<int>(count % Config::kStages), count / Config::kStages & 1};
  MatmulHalfBlocks halves(p);
  const int numKBlocks = p.numKBlocks;
  const int sums = (numKBlocks + kMostUnpromotedBlocks - 1) / kMostUnpromotedBlocks, length = (numKBlocks + sums - 1) / sums;
  if (sums == 1) {
    matmul_multiply_blocks<Config>(acc, shared, rowOffset, at, halves, numKBlocks);
    return;
  }
  MatmulFoldedSums<Config> folded(numKBlocks);
  matmul_multiply_blocks<Config>(acc, shared, rowOffset, at, halves, length);
  folded.template add<true>(acc);
  int left = numKBlocks - length;
#pragma unroll 1
  for (; left > length; left -= length) {
    matmul_multiply_blocks<Config>(acc, shared, rowOffset, at, halves, length);
    folded.template add<false>(acc);
  }
  matmul_multiply_blocks<Config>(acc, shared, rowOffset, at, halves, left);
  folded.finish(acc);
}

/** acc *= scales of rows, which are the same for all blocks of the reduction. */
template <class Config>
__device__ __forceinline__ void matmul_scale_rows(const MatmulSm90Params& p, const MatmulTileIndex& index, int rowOffset,
                                                  float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2]) {
  const MatmulRowScales<Config> rows(p, index, rowOffset);
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const float row = *rows.at[m][part];
#pragma unroll
      for (int n = 0; n < Config::kColBlocks; ++n)
#pragma unroll
        for (int block = 0; block < Config::kWidth / 8; ++block) {
          acc[m][n][block * 4 + 2 * part] *= row;
          acc[m][n][block * 4 + 2 * part + 1] *= row;
        }
    }
}

/** The same of warpgroups that take turns: acc = products over the whole reduction. The last part runs beside the other warpgroup's first
 *  products: by then this one has waited for all of its stages. */
template <class Config>
__device__ __forceinline__ void matmul_accumulate_turns(float (&acc)[Config::kRowBlocks][1][Config::kWidth / 2],
                                                        const MatmulShared<Config>& shared, uint32_t count, int numKBlocks, int handOver) {
  constexpr int kEvery = Config::kTile.promote;
  static_assert(Config::kPingpong && Config::kColBlocks == 1 && kEvery <= Config::kStages, "the stages of a sum are there at once");
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
    for (int i = 0; i < Config::kWidth / 2; ++i) acc[m][0][i] = 0.0f;
  MatmulSum<Config> part[Config::kWidth / 2];
  RingCursor<Config::kStages> start{static_cast<int>(count % Config::kStages), count / Config::kStages & 1};
#pragma unroll 1
  for (int k = 0; k < numKBlocks; k += kEvery) {
    const int blocks = min(kEvery, numKBlocks - k);
    RingCursor<Config::kStages> at = start;
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m) {
      const bool last = m == Config::kRowBlocks - 1;
      if (last && handOver >= 0 && k + kEvery >= numKBlocks) ptx::named_barrier_arrive(handOver, 256);
      at = start;
      matmul_multiply_part<Config>(part, shared, 0, m, 0, at, blocks, m == 0, last);
#pragma unroll
      for (int i = 0; i < Config::kWidth / 2; ++i) acc[m][0][i] += matmul_float(part[i]);
    }
    start = at;
  }
}

/** acc = this warpgroup's rows of the numbers that codes and scales stand for, before the tail. The tail multiplies with what
 *  kColumnScales leaves to it. As matmul_accumulate otherwise. */
template <class Config>
__device__ __forceinline__ void matmul_accumulate_scaled(const MatmulSm90Params& p,
                                                         float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                         const MatmulShared<Config>& shared, const MatmulTileIndex& index, int rowOffset,
                                                         uint32_t count, int handOver, const MatmulTileScales<Config>& scales) {
  if constexpr (Config::kTile.promote > 0 && Config::kPingpong) {
    matmul_accumulate_turns<Config>(acc, shared, count, p.numKBlocks, handOver);
  } else if constexpr (Config::kTile.promote > 0) {
    matmul_accumulate_promoted<Config>(p, acc, shared, index, rowOffset, count, 0, p.numKBlocks);
  } else if constexpr (kFoldsSums<Config>) {
    matmul_accumulate_folded<Config>(acc, p, shared, rowOffset, count);
  } else if constexpr (std::is_same_v<typename Config::Operand, int8_t>) {
    int32_t sums[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2];
    matmul_accumulate<Config>(sums, shared, rowOffset, count, p.numKBlocks, handOver);
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m)
#pragma unroll
      for (int n = 0; n < Config::kColBlocks; ++n)
#pragma unroll
        for (int i = 0; i < Config::kWidth / 2; ++i) acc[m][n][i] = matmul_float(sums[m][n][i]);
  } else {
    matmul_accumulate<Config>(acc, shared, rowOffset, count, p.numKBlocks, handOver);
  }
  if constexpr (Config::kColumnScales) {
    if (matmul_has_row_scales(p)) matmul_scale_rows<Config>(p, index, rowOffset, acc);
  } else if constexpr (!Config::kTile.blocked) {
    matmul_scale<Config>(scales, acc);
  }
}

}  // namespace vd::device
