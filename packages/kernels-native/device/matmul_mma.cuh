// The portable matrix core: implicit GEMM with mma.sync, float32 accumulators, a ring of shared-memory stages.
//
// A block computes tileM pixels by tileN columns; each warp 32 columns. A row of a stage is 64 bytes of depth in four
// 16-byte chunks, chunk c of row r stored at c ^ (r / 2 & 3), so that ldmatrix reads without bank conflicts. A stage is
// loaded kStages - 1 steps ahead (cp.async from sm_80; plain loads and stores before).
#pragma once
#include <type_traits>

#include "epilogue.cuh"
#include "kernel.cuh"
#include "matmul_mma.h"
#include "ptx/mma.cuh"
#include "quantized.cuh"
#include "ring.cuh"

namespace vd::device {

/** One variant: element type, rows, columns, whether chunks of channels may be moved as 16 bytes, whether a gated activation is
 *  swiglu, not geglu, and whether x is a clip with past or repeated frames, or results are a phase of y. */
template <class T_, int kTileM_, int kTileN_, bool kVector_, bool kSwiglu_ = false, bool kClip_ = false> struct MmaConfig {
  using T = T_;
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kStages = 3;
  static constexpr int kDepth = 64 / sizeof(T), kChunk = 16 / sizeof(T);  // elements of a row of a stage, of 16 bytes
  static constexpr bool kVector = kVector_, kSwiglu = kSwiglu_, kClip = kClip_;
  static constexpr int kWarpsN = kTileN / 32, kWarpsM = 2;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  static constexpr int kRowBlocks = kTileM / kWarpsM / 16;
  static constexpr int kChunksA = kTileM * 4 / kThreads, kChunksB = kTileN * 4 / kThreads;
  static_assert(32 * kWarpsM * kWarpsN * 36 * 4 <= kStages * (kTileM + kTileN) * 64, "the ring also stages 32x32 floats for each warp");
  static_assert(kTileM * 4 % kThreads == 0 && kTileN * 4 % kThreads == 0, "every thread moves the same number of chunks");
};

/** Where one output pixel reads: its first source row, column, frame, and the first pixel of its batch. */
struct SourcePixel {
  int f, h, w;
  int64_t base;
};

__device__ __forceinline__ SourcePixel source_pixel(const MatmulMmaParams& p, int row) {
  SourcePixel s;
  if (row >= p.rows) return {-(1 << 30), 0, 0, 0};
  const int w = row % p.out[2];
  row /= p.out[2];
  const int h = row % p.out[1];
  row /= p.out[1];
  const int f = row % p.out[0], b = row / p.out[0];
  s.w = w * p.stride[2] - p.padding[2];
  s.h = h * p.stride[1] - p.padding[1];
  s.f = f * p.stride[0] - p.padding[0];
  s.base = static_cast<int64_t>(b) * p.source[0] * p.source[1] * p.source[2];
  return s;
}

/** Source pixel of a tap, or -1 in the padding. */
__device__ __forceinline__ int64_t tap_pixel(const MatmulMmaParams& p, const SourcePixel& s, int tap) {
  const int kw = tap % p.kernel[2], rest = tap / p.kernel[2];
  int w = s.w + kw, h = s.h + rest % p.kernel[1];
  const int f = s.f + rest / p.kernel[1];
  const int scale = p.upsample ? 2 : 1;
  if (w < 0 || h < 0 || f < 0 || w >= p.source[2] * scale || h >= p.source[1] * scale || f >= p.source[0]) return -1;
  if (p.upsample) {
    w >>= 1;
    h >>= 1;
  }
  return s.base + (static_cast<int64_t>(f) * p.source[1] + h) * p.source[2] + w;
}

/** A row of pixels of x or its past; null in the padding. */
template <class T> struct ClipLine {
  const T* pixels;
  int64_t pitch;
};
/** Row `h` of the padded map in frame `f` of the batch whose first pixel is `base`. */
template <class T> __device__ __forceinline__ ClipLine<T> clip_line(const MatmulMmaParams& p, int64_t base, int f, int h) {
  if (p.replicate) f = min(max(f, -p.pastFrames), p.source[0] - 1);
  if (h < 0 || h >= (p.upsample ? 2 * p.source[1] : p.source[1]) || f < -p.pastFrames || f >= p.source[0]) return {nullptr, 0};
  const int line = (p.upsample ? h >> 1 : h) * p.source[2];
  const int64_t framePixels = static_cast<int64_t>(p.source[1]) * p.source[2];
  if (f >= 0) return {static_cast<const T*>(p.x) + (base + f * framePixels + line) * p.pitch, p.pitch};
  const int64_t batch = base / (framePixels * p.source[0]);
  return {static_cast<const T*>(p.past) + (((batch + 1) * p.pastFrames + f) * framePixels + line) * p.pastPitch, p.pastPitch};
}

/** Elements of column `w` of the padded map, or null in the padding. */
template <class T> __device__ __forceinline__ const T* clip_pixel(const MatmulMmaParams& p, const ClipLine<T>& line, int w) {
  if (line.pixels == nullptr || w < 0 || w >= (p.upsample ? 2 * p.source[2] : p.source[2])) return nullptr;
  return line.pixels + (p.upsample ? w >> 1 : w) * line.pitch;
}

/** Elements of a tap's source pixel in x or its past, or null in the padding. */
template <class T> __device__ __forceinline__ const T* clip_source(const MatmulMmaParams& p, const SourcePixel& s, int tap) {
  const int kw = tap % p.kernel[2], rest = tap / p.kernel[2];
  return clip_pixel(p, clip_line<T>(p, s.base, s.f + rest / p.kernel[1], s.h + rest % p.kernel[1]), s.w + kw);
}

/** Pixel of y that row `row` of the product is. */
template <bool kClip> __device__ __forceinline__ int64_t output_pixel(const MatmulMmaParams& p, int64_t row) {
  if constexpr (kClip) {
    if (p.phaseStep == 2) {
      const int64_t w = row % p.out[2], line = row / p.out[2];
      return ((2 * line + p.phaseRow) * p.out[2] + w) * 2 + p.phaseColumn;
    }
  }
  return row;
}

/** Row of the weights behind column `n` of the product; geglu interleaves blocks of 8 values and 8 gates. */
__device__ __forceinline__ int weight_row(const MatmulMmaParams& p, int n) {
  return p.gated ? (n >> 3 & 1) * (p.columns >> 1) + (n >> 4) * 8 + (n & 7) : n;
}

/** First output row and column of a block's tile. */
struct TileOrigin {
  int row, col;
};

/** Where a chunk of 16 bytes lies in a tile whose rows are 64 bytes. */
__device__ __forceinline__ uint32_t chunk_at(uint32_t base, int row, int chunk) {
  return base + row * 64 + ((chunk ^ (row >> 1 & 3)) << 4);
}
/** The same by its number. */
__device__ __forceinline__ uint32_t chunk_slot(uint32_t base, int index) { return chunk_at(base, index / 4, index & 3); }

/** Moves chunks of 16 bytes whole. Must be called with growing depths: addresses are found once per tap (or input) and
 *  advance from there. */
template <class Config> struct MmaVectorLoader {
  using T = typename Config::T;
  const T* sources[Config::kChunksA];  // plus k: the chunk at depth k; null in the padding
  const T* weights;                    // the first chunk's row
  TileOrigin origin;
  int tapEnd = 0;  // depth from which sources must be found anew

  __device__ __forceinline__ MmaVectorLoader(const MatmulMmaParams& p, TileOrigin origin_) : origin(origin_) {
    static_assert(Config::kThreads / 4 % 16 == 0, "a thread's rows of weights are equally far apart, with geglu too");
    weights = static_cast<const T*>(p.weights) + static_cast<int64_t>(weight_row(p, origin.col + threadIdx.x / 4)) * p.depth;
  }
  /** Sources from depth k to the end of its tap. */
  __device__ __forceinline__ void seek(const MatmulMmaParams& p, int k) {
    const int tap = k / p.tapChannels, numTaps = p.depth / p.tapChannels;
    const bool second = p.x2 != nullptr && k >= p.channels;
    tapEnd = k >= p.depth ? 1 << 30 : p.x2 == nullptr ? (tap + 1) * p.tapChannels : second ? p.depth : p.channels;
#pragma unroll 1
    for (int i = 0; i < Config::kChunksA; ++i) {
      const int row = origin.row + static_cast<int>(threadIdx.x + i * Config::kThreads) / 4;
      const T* source = nullptr;
      if (row < p.rows && tap < numTaps) {
        const SourcePixel s = source_pixel(p, row);
        if constexpr (Config::kClip) {
          source = clip_source<T>(p, s, tap);
          if (source != nullptr) source -= tap * p.tapChannels;
        } else {
          const int64_t pixel = tap_pixel(p, s, tap);
          if (second) source = static_cast<const T*>(p.x2) + pixel * p.pitch2 - p.channels;
          else if (pixel >= 0) source = static_cast<const T*>(p.x) + pixel * p.pitch - tap * p.tapChannels;
        }
      }
      set_source(i, source);
    }
  }
  /** Starts loading depth [k0, k0 + kDepth) of both tiles. */
  __device__ __forceinline__ void load(const MatmulMmaParams& p, uint32_t a, uint32_t b, int k0) {
    const int k = k0 + (threadIdx.x & 3) * Config::kChunk;
    if (k >= tapEnd) seek(p, k);
#pragma unroll
    for (int i = 0; i < Config::kChunksA; ++i) {
      const bool valid = sources[i] != nullptr;
      ptx::copy16(chunk_slot(a, threadIdx.x + i * Config::kThreads), valid ? sources[i] + k : static_cast<const T*>(p.x), valid);
    }
#pragma unroll
    for (int i = 0; i < Config::kChunksB; ++i) {
      const bool valid = origin.col + static_cast<int>(threadIdx.x + i * Config::kThreads) / 4 < p.columns && k < p.depth;
      const T* row = weights + static_cast<int64_t>(i * (Config::kThreads / 4 >> p.gated)) * p.depth;
      ptx::copy16(chunk_slot(b, threadIdx.x + i * Config::kThreads), valid ? row + k : static_cast<const T*>(p.weights), valid);
    }
  }

 private:
  /** sources[i] = source with an index known at run time, so that seek's loop stays one and registers stay registers. */
  __device__ __forceinline__ void set_source(int i, const T* source) {
#pragma unroll
    for (int j = 0; j < Config::kChunksA; ++j)
      if (j == i) sources[j] = source;
  }
};

/** A chunk of 16 bytes from floats. */
template <class T> __device__ __forceinline__ uint4 pack_chunk(const float (&v)[16 / sizeof(T)]) {
  if constexpr (sizeof(T) == 4)
    return make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
  else return pack8<T>(v);
}

/** Element (pixel, k) of A, 0 in the padding and beyond the depth. */
template <class T, bool kClip> __device__ __forceinline__ T a_element(const MatmulMmaParams& p, const SourcePixel& s, int k) {
  const T zero = from_float<T>(0.0f);
  if (k >= p.depth || s.f < -(1 << 29)) return zero;
  if constexpr (kClip) {
    const int tap = k / p.tapChannels, c = k - tap * p.tapChannels;
    const T* source = clip_source<T>(p, s, tap);
    return source == nullptr || c >= p.channels ? zero : source[c];
  } else {
    if (p.x2 != nullptr && k >= p.channels) return static_cast<const T*>(p.x2)[(s.base + s.w) * p.pitch2 + (k - p.channels)];
    const int tap = k / p.tapChannels, c = k - tap * p.tapChannels;
    const int64_t pixel = tap_pixel(p, s, tap);
    return pixel < 0 || c >= p.channels ? zero : static_cast<const T*>(p.x)[pixel * p.pitch + c];
  }
}

/** Moves element by element, for channels or addresses that chunks do not suit. */
template <class Config> struct MmaScalarLoader {
  using T = typename Config::T;
  SourcePixel pixels[Config::kChunksA];
  int weightRows[Config::kChunksB];

  __device__ __forceinline__ MmaScalarLoader(const MatmulMmaParams& p, TileOrigin origin) {
#pragma unroll
    for (int i = 0; i < Config::kChunksA; ++i) pixels[i] = source_pixel(p, origin.row + (threadIdx.x + i * Config::kThreads) / 4);
#pragma unroll
    for (int i = 0; i < Config::kChunksB; ++i) {
      const int n = origin.col + (threadIdx.x + i * Config::kThreads) / 4;
      weightRows[i] = n < p.columns ? weight_row(p, n) : -1;
    }
  }
  /** Loads depth [k0, k0 + kDepth) of both tiles. */
  __device__ __forceinline__ void load(const MatmulMmaParams& p, uint32_t a, uint32_t b, int k0) const {
    const T* w = static_cast<const T*>(p.weights);
    const int k = k0 + (threadIdx.x & 3) * Config::kChunk;
#pragma unroll
    for (int i = 0; i < Config::kChunksA; ++i) {
      float v[Config::kChunk];
#pragma unroll
      for (int j = 0; j < Config::kChunk; ++j) v[j] = to_float(a_element<T, Config::kClip>(p, pixels[i], k + j));
      ptx::store_shared16(chunk_slot(a, threadIdx.x + i * Config::kThreads), pack_chunk<T>(v));
    }
#pragma unroll
    for (int i = 0; i < Config::kChunksB; ++i) {
      const T* row = w + static_cast<int64_t>(weightRows[i] < 0 ? 0 : weightRows[i]) * p.depth;
      float v[Config::kChunk];
#pragma unroll
      for (int j = 0; j < Config::kChunk; ++j) v[j] = weightRows[i] >= 0 && k + j < p.depth ? to_float(row[k + j]) : 0.0f;
      ptx::store_shared16(chunk_slot(b, threadIdx.x + i * Config::kThreads), pack_chunk<T>(v));
    }
  }
};

/** acc += A · Bᵀ of one stage. A step is 32 bytes of depth, which lie in fragments alike whatever the elements are. */
template <class Config, class Sum>
__device__ __forceinline__ void mma_stage(Sum (&acc)[Config::kRowBlocks][4][4], uint32_t a, uint32_t b, int warpM, int warpN) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    uint32_t fragB[4][2];
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int row = warpN * 32 + pair * 16 + (lane & 7) + (lane >> 4) * 8, chunk = step * 2 + (lane >> 3 & 1);
      uint32_t r[4];
      ptx::ldmatrix_x4(r, chunk_at(b, row, chunk));
      fragB[2 * pair][0] = r[0];
      fragB[2 * pair][1] = r[1];
      fragB[2 * pair + 1][0] = r[2];
      fragB[2 * pair + 1][1] = r[3];
    }
#pragma unroll
    for (int m = 0; m < Config::kRowBlocks; ++m) {
      const int row = (warpM * Config::kRowBlocks + m) * 16 + (lane & 15), chunk = step * 2 + (lane >> 4);
      uint32_t fragA[4];
      ptx::ldmatrix_x4(fragA, chunk_at(a, row, chunk));
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        if constexpr (sizeof(typename Config::T) == 1) ptx::mma_16832(acc[m][n], fragA, fragB[n]);
        else ptx::mma_16816<typename Config::T>(acc[m][n], fragA, fragB[n]);
      }
    }
  }
}

/** The tail of eight channels staged in shared memory; with geglu, of eight values followed by eight gates. */
template <bool kSwiglu, bool kCodes>
__device__ __forceinline__ void staged_tail(const MatmulMmaParams& p, float* staged, int64_t pixel, int col) {
  if (p.gated) {
#pragma unroll 1
    for (int i = 0; i < 8; ++i) staged[i] = gated<kSwiglu>(p.epilogue, staged[i], staged[i + 8], pixel, col + i);
  }
  if (p.epilogue.vector) {
    float v[8];
    load8(staged, v);
    epilogue8<kCodes>(p.epilogue, v, pixel, col, p.gated);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < 8; ++i)
    if (col + i < p.epilogue.n) finish1<kCodes>(p.epilogue, staged[i], pixel, col + i, p.gated);
}

/** Stores a warp's products, 32 rows at a time, through its own part of shared memory. */
template <class Config>
__device__ __forceinline__ void mma_store(const MatmulMmaParams& p, const float (&acc)[Config::kRowBlocks][4][4], float* staging, int row0,
                                          int col0) {
  constexpr int kPitch = 36;
  const int lane = threadIdx.x & 31;
  const int chunks = p.gated ? 2 : 4;
#pragma unroll
  for (int part = 0; part < Config::kRowBlocks / 2; ++part) {
    __syncwarp();
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const float* v = acc[2 * part + m][n];
        float* at = staging + (16 * m + lane / 4) * kPitch + 8 * n + 2 * (lane & 3);
        *reinterpret_cast<float2*>(at) = make_float2(v[0], v[1]);
        *reinterpret_cast<float2*>(at + 8 * kPitch) = make_float2(v[2], v[3]);
      }
    __syncwarp();
#pragma unroll 1
    for (int i = lane; i < 32 * chunks; i += 32) {
      const int row = i / chunks, chunk = i % chunks;
      const int64_t pixel = row0 + 32 * part + row;
      const int col = p.gated ? (col0 >> 1) + 8 * chunk : col0 + 8 * chunk;
      if (pixel < p.rows)
        staged_tail<Config::kSwiglu, sizeof(typename Config::T) == 1>(p, staging + row * kPitch + chunk * (p.gated ? 16 : 8),
                                                                      output_pixel<Config::kClip>(p, pixel), col);
    }
  }
}

/** A warp's block of a tile: its first row and column of the product, and its place among the block's warps. */
struct WarpTile {
  int row, col, m, n;
};

/** One tile of the product: `multiply(acc, a, b, warp, step)` adds what a stage contributes to a warp's block of Sum, `finish(acc,
 *  warp, store)` calls `store` with the float32 sums that the tail takes. */
template <class Config, class Sum, class Multiply, class Finish>
__device__ __forceinline__ void matmul_tile(const MatmulMmaParams& p, Multiply multiply, Finish finish) {
  constexpr int kBytesA = Config::kTileM * 64, kBytesB = Config::kTileN * 64, kStages = Config::kStages;
  __shared__ __align__(128) uint8_t ring[kStages * (kBytesA + kBytesB)];
  const uint32_t base = shared_address(ring);
  const int numColTiles = (p.columns + Config::kTileN - 1) / Config::kTileN;
  const int row0 = blockIdx.x / numColTiles * Config::kTileM, col0 = blockIdx.x % numColTiles * Config::kTileN;
  const int warp = threadIdx.x / 32, warpM = warp / Config::kWarpsN, warpN = warp % Config::kWarpsN;
  using Loader = std::conditional_t<Config::kVector, MmaVectorLoader<Config>, MmaScalarLoader<Config>>;
  Loader loader(p, {row0, col0});
  const int numSteps = (p.depth + Config::kDepth - 1) / Config::kDepth;
  const auto load = [&](int step, int stage) {
    const uint32_t a = base + stage * (kBytesA + kBytesB);
    loader.load(p, a, a + kBytesA, step * Config::kDepth);
  };

  const WarpTile tile{row0 + warpM * Config::kRowBlocks * 16, col0 + warpN * 32, warpM, warpN};
  Sum acc[Config::kRowBlocks][4][4] = {};
  ring_start<kStages>(numSteps, load);
  ring_run<kStages>(numSteps, load, [&](int step, int stage) {
    const uint32_t a = base + stage * (kBytesA + kBytesB);
    multiply(acc, a, a + kBytesA, tile, step);
  });

  float* staging = reinterpret_cast<float*>(ring) + warp * (32 * 36);
  finish(acc, tile, [&](const float (&sums)[Config::kRowBlocks][4][4]) { mma_store<Config>(p, sums, staging, tile.row, tile.col); });
}

/** The same where the sums are what the tail takes; `multiply(acc, a, b, warpM, warpN)`. */
template <class Config, class Multiply> __device__ __forceinline__ void matmul_tile(const MatmulMmaParams& p, Multiply multiply) {
  using Sums = float[Config::kRowBlocks][4][4];
  matmul_tile<Config, float>(
      p, [&](Sums& acc, uint32_t a, uint32_t b, const WarpTile& tile, int) { multiply(acc, a, b, tile.m, tile.n); },
      [](Sums& acc, const WarpTile&, auto store) { store(acc); });
}

template <class Config> __device__ __forceinline__ void matmul_mma(const MatmulMmaParams& p) {
  matmul_tile<Config>(p, [](auto& acc, uint32_t a, uint32_t b, int warpM, int warpN) { mma_stage<Config>(acc, a, b, warpM, warpN); });
}

/** Operands that stand for themselves. */
struct NoScales {
  __device__ __forceinline__ float pixel(const MatmulMmaParams&, int, int, float v) const { return v; }
  __device__ __forceinline__ float weight(int, int, float v) const { return v; }
};

/** Plain float32 products: 64 pixels by 64 columns, each thread 4 by 4. For types that a device's tensor cores lack.
 *  With geglu, columns alternate value and gate one by one. scales: turns stored elements into numbers. */
template <class T, bool kSwiglu = false, bool kClip = false, class Scales = NoScales>
__device__ __forceinline__ void matmul_plain(const MatmulMmaParams& p, const Scales& scales = {}) {
  constexpr int kDepth = 16, kPitch = 68, kPartDepth = 512;  // sums of parts keep the error of long reductions small
  __shared__ __align__(16) float a[kDepth][kPitch], b[kDepth][kPitch];
  const int numColTiles = (p.columns + 63) / 64;
  const int row0 = blockIdx.x / numColTiles * 64, col0 = blockIdx.x % numColTiles * 64;
  const int loadRow = threadIdx.x / 4, loadDepth = threadIdx.x % 4 * 4;
  const int tileRow = threadIdx.x / 16 * 4, tileCol = threadIdx.x % 16 * 4;
  const SourcePixel pixel = source_pixel(p, row0 + loadRow);
  const int n = col0 + loadRow;
  const int weightRow = p.gated ? (n & 1) * (p.columns >> 1) + (n >> 1) : n;
  const T* weights = static_cast<const T*>(p.weights) + static_cast<int64_t>(n < p.columns ? weightRow : 0) * p.depth;
  float acc[4][4] = {}, part[4][4] = {};
  for (int k0 = 0; k0 < p.depth; k0 += kDepth) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = k0 + loadDepth + j;
      a[loadDepth + j][loadRow] = scales.pixel(p, row0 + loadRow, k, to_float(a_element<T, kClip>(p, pixel, k)));
      b[loadDepth + j][loadRow] = n < p.columns && k < p.depth ? scales.weight(weightRow, k, to_float(weights[k])) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const float4 va = *reinterpret_cast<const float4*>(&a[k][tileRow]), vb = *reinterpret_cast<const float4*>(&b[k][tileCol]);
      const float ra[4] = {va.x, va.y, va.z, va.w}, rb[4] = {vb.x, vb.y, vb.z, vb.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) part[i][j] = fmaf(ra[i], rb[j], part[i][j]);
    }
    __syncthreads();
    if ((k0 + kDepth) % kPartDepth != 0 && k0 + kDepth < p.depth) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        acc[i][j] += part[i][j];
        part[i][j] = 0.0f;
      }
  }
  // Through shared memory, so that the tail's code appears once.
  float* staged = &a[0][0];  // 16 rows of 64 columns at a time
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) staged[threadIdx.x / 16 * 64 + tileCol + j] = acc[i][j];
    __syncthreads();
#pragma unroll 1
    for (int e = threadIdx.x; e < 16 * (p.gated ? 32 : 64); e += 256) {
      const int row = p.gated ? e / 32 : e / 64, column = p.gated ? e % 32 : e % 64;
      const int64_t productRow = row0 + row * 4 + i;
      const int col = (p.gated ? col0 >> 1 : col0) + column;
      if (productRow >= p.rows || col >= p.epilogue.n) continue;
      const int64_t pixel = output_pixel<kClip>(p, productRow);
      const float* v = staged + row * 64 + column * (p.gated ? 2 : 1);
      finish1<sizeof(T) == 1>(p.epilogue, p.gated ? gated<kSwiglu>(p.epilogue, v[0], v[1], pixel, col) : v[0], pixel, col, p.gated);
    }
    __syncthreads();
  }
}

}  // namespace vd::device
