// Mean and sum of squared deviations of channels over the pixels of a tile, from the rounded 16-bit results that the Hopper core's epilogue
// leaves in shared memory: rows of 64 bytes, 16-byte chunk c of row r at c ^ (r / 2 & 3).
//
// Tensor cores add up: with d the differences from a column's first row, [dᵀ; 1] · d has the sums of squares on its diagonal and the sums
// below, so that one product does 16 rows of 8 columns. Additions one by one took four times the instructions (docs/kernels/conv.md).
#pragma once
#include "kernel.cuh"
#include "ptx/mma.cuh"
#include "vec.cuh"

namespace vd::device {

/** Rows of a product, and of a tile. */
inline constexpr int kSlabRows = 16, kTileRows = 128;
inline constexpr int kTileSlabs = kTileRows / kSlabRows;

/** Two numbers of a type, and some of them as bits. */
template <class T> struct Pair;
template <> struct Pair<__half> {
  using Type = __half2;
  static constexpr uint32_t kOnes = 0x3c003c00, kHalves = 0x38003800, kMinusHalves = 0xb800b800;
};
template <> struct Pair<__nv_bfloat16> {
  using Type = __nv_bfloat162;
  static constexpr uint32_t kOnes = 0x3f803f80, kHalves = 0x3f003f00, kMinusHalves = 0xbf00bf00;
};

/** Half the difference of two numbers from `shift`, which holds minus half of it: halves, since a difference might overflow. */
template <class T> __device__ __forceinline__ uint32_t half_difference(uint32_t values, uint32_t shift) {
  using Type = typename Pair<T>::Type;
  const uint32_t halves = Pair<T>::kHalves;
  const Type d =
      __hfma2(*reinterpret_cast<const Type*>(&values), *reinterpret_cast<const Type*>(&halves), *reinterpret_cast<const Type*>(&shift));
  return *reinterpret_cast<const uint32_t*>(&d);
}

/** Sums over rows of 8 columns: lane (g, t), g = lane / 4, holds those of column g where t = g / 2. */
template <class T> struct ColumnSums {
  float products[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  uint32_t shift;  // minus half of the first row's value of column g, twice

  /** rows: fragments of the first 16 rows, two of them. */
  __device__ __forceinline__ void start(uint32_t rows) {
    using Type = typename Pair<T>::Type;
    const uint32_t first = __shfl_sync(0xffffffffu, rows, threadIdx.x & 28), both = __byte_perm(first, first, 0x1010);
    const uint32_t minusHalves = Pair<T>::kMinusHalves;
    const Type s = __hmul2(*reinterpret_cast<const Type*>(&both), *reinterpret_cast<const Type*>(&minusHalves));
    shift = *reinterpret_cast<const uint32_t*>(&s);
  }
  __device__ __forceinline__ void add(uint32_t rows0, uint32_t rows8) {
    const uint32_t d[2] = {half_difference<T>(rows0, shift), half_difference<T>(rows8, shift)};
    const uint32_t a[4] = {d[0], Pair<T>::kOnes, d[1], Pair<T>::kOnes};
    ptx::mma_16816<T>(products, a, d);
  }
  /** (mean, sum of squared deviations) over `numRows` rows. */
  __device__ __forceinline__ float2 moments(int numRows) const {
    const bool odd = threadIdx.x >> 2 & 1;
    const float sum = odd ? products[3] : products[2], square = odd ? products[1] : products[0], mean = sum / numRows;
    return make_float2(2.0f * (mean - unpack2<T>(shift).x), 4.0f * fmaxf(fmaf(-sum, mean, square), 0.0f));
  }
};

/** True for the lanes that hold sums, and the column of 8 whose they are. */
__device__ __forceinline__ bool holds_column() { return (threadIdx.x & 3) == (threadIdx.x >> 3 & 3); }
__device__ __forceinline__ int held_column() { return threadIdx.x >> 2 & 7; }

/** Sums of kRows rows of 32 columns at `rows`: four times 8 columns. */
template <class T, int kRows> __device__ __forceinline__ void add_rows(uint32_t rows, ColumnSums<T> (&sums)[4]) {
  const int lane = threadIdx.x & 31, row = (lane & 7) + (lane >> 3 & 1) * 8, swizzle = row >> 1 & 3;
  const uint32_t left = rows + row * 64 + (((lane >> 4) ^ swizzle) << 4), right = rows + row * 64 + (((2 + (lane >> 4)) ^ swizzle) << 4);
#pragma unroll
  for (int slab = 0; slab < kRows / kSlabRows; ++slab) {
    uint32_t r[2][4];
    ptx::ldmatrix_x4_transposed(r[0], left + slab * kSlabRows * 64);
    ptx::ldmatrix_x4_transposed(r[1], right + slab * kSlabRows * 64);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t rows0 = r[i / 2][i % 2 * 2], rows8 = r[i / 2][i % 2 * 2 + 1];
      if (slab == 0) sums[i].start(rows0);
      sums[i].add(rows0, rows8);
    }
  }
}

/** The column of 32 whose moments measure_rows gives a lane. */
__device__ __forceinline__ int measured_column() { return threadIdx.x % 16 * 2 + threadIdx.x % 32 / 16; }

/** (mean, sum of squared deviations) over kRows rows of one of the 32 columns at `rows`, by additions: tensor cores that are busy with
 *  warpgroups' products let such small ones wait. A lane adds up every second row of two columns. */
template <class T, int kRows> __device__ __forceinline__ float2 measure_rows(uint32_t rows) {
  using Type = typename Pair<T>::Type;
  constexpr int kBatch = 8;  // loads under way: a busy shared memory lets them wait
  const int lane = threadIdx.x & 31, pair = lane & 15;
  const auto load = [](uint32_t at) {
    uint32_t values;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(values) : "r"(at));
    return values;
  };
  const uint32_t minusHalves = Pair<T>::kMinusHalves, first = load(rows + pair * 4);
  const Type s = __hmul2(*reinterpret_cast<const Type*>(&first), *reinterpret_cast<const Type*>(&minusHalves));
  const uint32_t shift = *reinterpret_cast<const uint32_t*>(&s);
  uint32_t at = rows + lane / 16 * 64 + pair * 4;
  float2 sum = {}, square = {};
#pragma unroll 1
  for (int i = 0; i < kRows / 2; i += kBatch, at += kBatch * 128) {
    uint32_t values[kBatch];
#pragma unroll
    for (int n = 0; n < kBatch; ++n) values[n] = load((at ^ (n % 4 << 4)) + n * 128);
#pragma unroll
    for (int n = 0; n < kBatch; ++n) {
      const float2 d = unpack2<T>(half_difference<T>(values[n], shift));
      sum.x += d.x;
      sum.y += d.y;
      square.x = fmaf(d.x, d.x, square.x);
      square.y = fmaf(d.y, d.y, square.y);
    }
  }
  const auto both = [](float v) { return v + __shfl_xor_sync(0xffffffffu, v, 16); };
  sum = make_float2(both(sum.x), both(sum.y));
  square = make_float2(both(square.x), both(square.y));
  const bool second = lane >= 16;
  const float total = second ? sum.y : sum.x, mean = total / kRows, shifted = second ? unpack2<T>(shift).y : unpack2<T>(shift).x;
  return make_float2(2.0f * (mean - shifted), 4.0f * fmaxf(fmaf(-total, mean, second ? square.y : square.x), 0.0f));
}

/** (mean, deviations) of a column from those of two parts of `numRows` rows each. */
__device__ __forceinline__ float2 merge_halves(const float2& a, const float2& b, int numRows) {
  const float apart = b.x - a.x;
  return make_float2(a.x + 0.5f * apart, fmaf(apart * apart, 0.5f * numRows, a.y + b.y));
}

/** (mean, deviations) of a tile's column from those of its slabs. */
__device__ __forceinline__ float2 merge_slabs(const float2 (&slabs)[kTileSlabs]) {
  const float around = slabs[0].x;
  float sum = 0.0f, deviations = 0.0f, spread = 0.0f;
#pragma unroll
  for (int i = 0; i < kTileSlabs; ++i) {
    sum += slabs[i].x - around;
    deviations += slabs[i].y;
  }
  const float mean = around + sum / kTileSlabs;
#pragma unroll
  for (int i = 0; i < kTileSlabs; ++i) {
    const float d = slabs[i].x - mean;
    spread = fmaf(d, d, spread);
  }
  return make_float2(mean, fmaf(spread, static_cast<float>(kSlabRows), deviations));
}

}  // namespace vd::device
