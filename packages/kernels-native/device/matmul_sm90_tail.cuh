// The epilogue of the Hopper matrix core: bias tile, residuals through staging, whole lines to memory.
#pragma once
#include "epilogue.cuh"
#include "matmul_scales.cuh"
#include "matmul_sm90_moments.cuh"
#include "matmul_sm90_tile.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "ptx/stmatrix.cuh"

namespace vd::device {

/** The tail with every branch, one row of 32 channels at a time: for tiles that know activations or take any types. */
template <class Config, int kPart>
__device__ __forceinline__ void matmul_store_any(const MatmulSm90Params& p, const float (&acc)[Config::kWidth / 2], int group,
                                                 int64_t pixel, int col) {
  const int lane = threadIdx.x & 3;
  float2 v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int value = (group * 4 + i) * 4 + 2 * kPart;
    v[i] = make_float2(acc[value], acc[value + 1]);
  }
  transpose_quad(v, lane);
  float out[8] = {v[0].x, v[0].y, v[1].x, v[1].y, v[2].x, v[2].y, v[3].x, v[3].y};
  if (pixel < 0) return;
  if constexpr (Config::kGeneric) epilogue8<Config::kScaled>(p.epilogue, out, pixel, col + 8 * lane, false);
  else epilogue8_typed<typename Config::T, Config::kActivation, Config::kScaled>(p.epilogue, out, pixel, col + 8 * lane, false);
}

template <class Config>
__device__ __forceinline__ void matmul_store_branchy(const MatmulSm90Params& p,
                                                     const float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                     const MatmulTileIndex& index, int rowOffset) {
  constexpr int kGroups = Config::kWidth / 32;
  const PixelBox box = tile_box<Config>(p, index.m);
  const int row = rowOffset + (threadIdx.x % 128 / 32) * 16 + (threadIdx.x & 31) / 4;
  const int col0 = index.n * Config::kTileN;
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m) {
    const int64_t pixel0 = matmul_pixel(p, box, index.phase, index.m < p.numMTiles, row + 64 * m);
    const int64_t pixel1 = matmul_pixel(p, box, index.phase, index.m < p.numMTiles, row + 64 * m + 8);
#pragma unroll
    for (int n = 0; n < Config::kColBlocks; ++n)
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        matmul_store_any<Config, 0>(p, acc[m][n], group, pixel0, col0 + (n * kGroups + group) * 32);
        matmul_store_any<Config, 1>(p, acc[m][n], group, pixel1, col0 + (n * kGroups + group) * 32);
      }
  }
}

/** True where two frames (counted over batches) have one bias: those of a clip may. */
__device__ __forceinline__ bool have_one_bias(const Epilogue& e, uint32_t first, uint32_t last) {
  if (first == last) return true;
  const auto frames = static_cast<uint32_t>(e.framesPerBatch);
  return e.frameBiasFrameStride == 0 && (e.frameBiasBatchStride == 0 || first / frames == last / frames);
}

/** A frame (counted over batches) whose bias every pixel of the tile has, or of a wide tile of rows, or of two frames, those of the
 *  warpgroup `group`; -1 when there are several. */
template <class Config> __device__ __forceinline__ int matmul_frame(const MatmulSm90Params& p, const PixelBox& box, int group) {
  const uint32_t frame = p.epilogue.pixelsPerFrame / p.numPhases;
  uint32_t first, last;
  if constexpr (Config::kTile.wide && Config::kRowTiles) {
    first = min(box.w + group * Config::kRows, p.out[2] - 1) / frame;
    last = (min(box.w + (group + 1) * Config::kRows, p.out[2]) - 1) / frame;
  } else {
    if constexpr (Config::kTile.wide)
      if (p.tile[0] == 2 && p.tile[1] * p.tile[2] == Config::kRows) return box.b * p.out[0] + min(box.f + group, p.out[0] - 1);
    const int w = min(box.w + p.tile[2], p.out[2]) - 1, h = min(box.h + p.tile[1], p.out[1]) - 1, f = min(box.f + p.tile[0], p.out[0]) - 1;
    first = (((box.b * p.out[0] + box.f) * p.out[1] + box.h) * p.out[2] + box.w) / frame;
    last = (((box.b * p.out[0] + f) * p.out[1] + h) * p.out[2] + w) / frame;
  }
  return have_one_bias(p.epilogue, first, last) ? static_cast<int>(first) : -1;
}

/** What the products of a column are multiplied with: outScale and the column's scale, and that of x where x has one. */
__device__ __forceinline__ float matmul_column_scale(const MatmulSm90Params& p, int col) {
  const float x = matmul_has_row_scales(p) ? 1.0f : *p.scales.x;
  return p.epilogue.outScale * x * __ldg(p.scales.weight + min(col, p.epilogue.n - 1) * p.scales.weightStride);
}

/** What sums of values are multiplied with, before their gates: those are twice their activation where {@link gated2} has geglu. */
template <class Config> __device__ __forceinline__ float matmul_value_scale(const Epilogue& e) {
  if constexpr (Config::kGeglu) return Config::kSwiglu ? e.outScale : 0.5f * e.outScale;
  else return e.outScale;
}

/** What a thread brings to its warpgroup's tile of valueScale · (bias + frameBias) in shared memory (with geglu values, then unscaled
 * gates; unscaled in front of an activation), and of columns' scales behind them. Read before whatever the tile waits for, so that memory
 * is not waited for as well. */
template <class Config> struct MatmulBiasPart {
  static constexpr int kCount = (Config::kTileN + 127) / 128;
  float biases[kCount], scales[kCount];
  bool framed;  // the frame bias is in it, or absent

  __device__ __forceinline__ MatmulBiasPart(const MatmulSm90Params& p, const MatmulTileIndex& index, float valueScale, int group = 0) {
    using T = typename Config::T;
    const Epilogue& e = p.epilogue;
    const float* bias = static_cast<const float*>(e.bias);
    constexpr int kHalf = Config::kTileN / 2;
    const int frame = Config::kGeglu || e.frameBias == nullptr || index.m >= p.numMTiles
                          ? -1
                          : matmul_frame<Config>(p, tile_box<Config>(p, index.m), group);
    const T* frameBias = frame < 0 ? nullptr : static_cast<const T*>(e.frameBias) + frame_bias_row(e, frame);
    framed = frameBias != nullptr || e.frameBias == nullptr;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const int i = threadIdx.x % 128 + 128 * j;
      if (Config::kTileN % 128 != 0 && i >= Config::kTileN) continue;
      const int gate = Config::kGeglu && i >= kHalf;
      const int col = Config::kGeglu ? index.n * kHalf + i - gate * kHalf : index.n * Config::kTileN + i;
      float v = bias != nullptr && col < e.n ? __ldg(bias + gate * e.n + col) : 0.0f;
      if (frameBias != nullptr && col < e.n) v += to_float(frameBias[col]);
      biases[j] = gate || Config::kStagedActivation ? v : v * valueScale;
      if constexpr (Config::kColumnScales) scales[j] = matmul_column_scale(p, col);
    }
  }
  __device__ __forceinline__ void put(float* tile) const {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const int i = threadIdx.x % 128 + 128 * j;
      if (Config::kTileN % 128 != 0 && i >= Config::kTileN) continue;
      tile[i] = biases[j];
      if constexpr (Config::kColumnScales) tile[Config::kTileN + i] = scales[j];
    }
  }
};

/** Fills that tile where nothing is waited for. group: the warpgroup whose rows have the frame bias, where those of both may differ. */
template <class Config>
__device__ __forceinline__ void matmul_load_bias(const MatmulSm90Params& p, const MatmulTileIndex& index, float* tile, int group = 0) {
  MatmulBiasPart<Config>(p, index, matmul_value_scale<Config>(p.epilogue), group).put(tile);
}

/** What the tail has besides the bias tile: nothing, a residual, or anything (found at run time). */
enum MatmulTail : int { kTailBias = 0, kTailResidual = 1, kTailAny = 2 };

/** One output row of this thread at this lane's first channel of the tile; y is null outside the output. */
template <class T> struct MatmulRow {
  T* y;
  const T* residual;
  int32_t pixel;
};
/** Address of this lane's first channel of a row of an operand. */
template <class T> __device__ __forceinline__ const T* matmul_at(const void* base, int64_t pitch, int pixel, int col) {
  return pixel < 0 ? nullptr : static_cast<const T*>(base) + pixel * pitch + col + (threadIdx.x & 3) * 8;
}
template <class Config, int kTail>
__device__ __forceinline__ MatmulRow<typename Config::T> matmul_row(const MatmulSm90Params& p, const MatmulTileIndex& index, int row,
                                                                    int col) {
  using T = typename Config::T;
  const Epilogue& e = p.epilogue;
  MatmulRow<T> r{};
  r.pixel = static_cast<int32_t>(matmul_pixel(p, tile_box<Config>(p, index.m), index.phase, index.m < p.numMTiles, row));
  r.y = const_cast<T*>(matmul_at<T>(e.y, e.yPitch, r.pixel, col));
  if (kTail == kTailResidual) r.residual = matmul_at<T>(e.residual, e.residualPitch, r.pixel, col);
  return r;
}

/** A warp's own kilobyte of shared memory: 16 rows of 32 channels, chunk c of row r at c ^ (r / 2 & 3). */
struct MatmulStaging {
  uint32_t fragment;  // address of the 8x8 matrices of channels 0-15 for ldmatrix and stmatrix; 16-31 lie 32 bytes on, swizzled
  uint32_t fragment2;
  uint32_t line[2];  // address of this lane's 16 bytes in rows lane / 4 and lane / 4 + 8
};
__device__ __forceinline__ MatmulStaging matmul_staging(uint32_t base) {
  const int lane = threadIdx.x & 31;
  MatmulStaging s;
  const int row = (lane & 7) + (lane >> 3 & 1) * 8, swizzle = row >> 1 & 3;
  s.fragment = base + row * 64 + (((lane >> 4) ^ swizzle) << 4);
  s.fragment2 = base + row * 64 + (((2 + (lane >> 4)) ^ swizzle) << 4);
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int r = lane / 4 + 8 * part;
    s.line[part] = base + r * 64 + (((lane & 3) ^ (r >> 1 & 3)) << 4);
  }
  return s;
}

/** values[block][part] += scale · fragments of 16 rows of 32 channels. */
template <class T> __device__ __forceinline__ void matmul_add_fragments(const uint32_t (&r)[2][4], float scale, float2 (&values)[4][2]) {
#pragma unroll
  for (int block = 0; block < 4; ++block)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const float2 v = unpack2<T>(r[block / 2][block % 2 * 2 + part]);
      values[block][part].x = fmaf(scale, v.x, values[block][part].x);
      values[block][part].y = fmaf(scale, v.y, values[block][part].y);
    }
}

/** Rounds 16 rows of 32 channels and stores their fragments. */
template <class T>
__device__ __forceinline__ void matmul_put_fragments(const float2 (&values)[4][2], uint32_t fragment, uint32_t fragment2) {
  uint32_t r[4][2];
#pragma unroll
  for (int block = 0; block < 4; ++block)
#pragma unroll
    for (int part = 0; part < 2; ++part) r[block][part] = pack2<T>(values[block][part].x, values[block][part].y);
  ptx::stmatrix_x4(fragment, r[0][0], r[0][1], r[1][0], r[1][1]);
  ptx::stmatrix_x4(fragment2, r[2][0], r[2][1], r[3][0], r[3][1]);
}

/** values[block][part] += scale · 16 rows of 32 channels of a residual, brought from rows to fragments through staging. */
template <class T>
__device__ __forceinline__ void matmul_add_lines(const MatmulStaging& staging, const uint4 (&lines)[2], float scale,
                                                 float2 (&values)[4][2]) {
  ptx::store_shared16(staging.line[0], lines[0]);
  ptx::store_shared16(staging.line[1], lines[1]);
  __syncwarp();
  uint32_t r[2][4];
  ptx::ldmatrix_x4(r[0], staging.fragment);
  ptx::ldmatrix_x4(r[1], staging.fragment2);
  __syncwarp();
  matmul_add_fragments<T>(r, scale, values);
}

template <class T> __device__ __forceinline__ uint4 matmul_line(const T* row, int offset, bool inside) {
  return row != nullptr && inside ? __ldg(reinterpret_cast<const uint4*>(row + offset)) : make_uint4(0, 0, 0, 0);
}

/** values = outScale · act(values). */
__device__ __forceinline__ void matmul_activate(const Epilogue& e, float2 (&values)[4][2]) {
  float v[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) v[i] = i % 2 ? values[i / 4][i / 2 % 2].y : values[i / 4][i / 2 % 2].x;
  activate<true>(v, e.act);
#pragma unroll
  for (int i = 0; i < 16; i += 2) values[i / 4][i / 2 % 2] = make_float2(e.outScale * v[i], e.outScale * v[i + 1]);
}

/** Sums of 16 rows by 32 output channels: outScale · act(product + bias), or geglu of value and gate columns. */
template <class Config>
__device__ __forceinline__ void matmul_sums(const Epilogue& e, const float (&acc)[Config::kWidth / 2], int group, const float* bias,
                                            float2 (&values)[4][2]) {
  const float* at = bias + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int block = 0; block < 4; ++block) {
    const float2 b = *reinterpret_cast<const float2*>(at + 8 * block);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      if constexpr (Config::kGeglu) {
        const float2 gateBias = *reinterpret_cast<const float2*>(at + Config::kTileN / 2 + 8 * block);
        const float* v = acc + (group * 8 + 2 * block) * 4 + 2 * part;
        values[block][part] =
            gated2<Config::kSwiglu>(make_float2(v[0], v[1]), make_float2(v[4], v[5]), matmul_value_scale<Config>(e), b, gateBias);
      } else {
        const float* v = acc + (group * 4 + block) * 4 + 2 * part;
        float2 scale = make_float2(e.outScale, e.outScale);
        if constexpr (Config::kColumnScales) scale = *reinterpret_cast<const float2*>(at + Config::kTileN + 8 * block);
        if constexpr (Config::kStagedActivation) scale = make_float2(1.0f, 1.0f);
        values[block][part] = make_float2(fmaf(v[0], scale.x, b.x), fmaf(v[1], scale.y, b.y));
      }
    }
  }
  if constexpr (Config::kStagedActivation) matmul_activate(e, values);
}

/** values += outScale · frame bias, when the tile's rows lie in several frames. */
template <class T>
__device__ __forceinline__ void matmul_add_frame_bias(const Epilogue& e, int pixel, int part, int col, float2 (&values)[4][2]) {
  if (pixel < 0) return;
  const T* row = static_cast<const T*>(e.frameBias) + frame_bias_offset(e, pixel);
#pragma unroll
  for (int block = 0; block < 4; ++block) {
    const int c = col + 8 * block + 2 * (threadIdx.x & 3);
    if (c >= e.n) continue;
    const float2 v = unpack2<T>(__ldg(reinterpret_cast<const uint32_t*>(row + c)));
    values[block][part].x = fmaf(e.outScale, v.x, values[block][part].x);
    values[block][part].y = fmaf(e.outScale, v.y, values[block][part].y);
  }
}

/** values += scale · a residual, its addresses made on the spot. */
template <class T>
__device__ __forceinline__ void matmul_add_operand(const MatmulStaging& staging, const void* base, int64_t pitch, float scale, int pixel0,
                                                   int pixel1, int col, bool inside, float2 (&values)[4][2]) {
  const uint4 lines[2] = {matmul_line(matmul_at<T>(base, pitch, pixel0, col), 0, inside),
                          matmul_line(matmul_at<T>(base, pitch, pixel1, col), 0, inside)};
  matmul_add_lines<T>(staging, lines, scale, values);
}

/** Stores 16 rows of 32 channels, brought from fragments to rows through staging. */
template <class T>
__device__ __forceinline__ void matmul_store_lines(const MatmulStaging& staging, const float2 (&values)[4][2], T* row0, T* row1, int offset,
                                                   bool inside) {
  matmul_put_fragments<T>(values, staging.fragment, staging.fragment2);
  __syncwarp();
  const uint4 line0 = ptx::load_shared16(staging.line[0]), line1 = ptx::load_shared16(staging.line[1]);
  __syncwarp();
  if (row0 != nullptr && inside) *reinterpret_cast<uint4*>(row0 + offset) = line0;
  if (row1 != nullptr && inside) *reinterpret_cast<uint4*>(row1 + offset) = line1;
}

template <class Config, int kTail>
__device__ __forceinline__ void matmul_store_tail(const MatmulSm90Params& p,
                                                  const float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                                  const MatmulTileIndex& index, int rowOffset, const float* bias, uint32_t stagingBase,
                                                  bool framed) {
  using T = typename Config::T;
  constexpr int kGroups = Config::kWidth / (Config::kGeglu ? 64 : 32), kSteps = Config::kColBlocks * kGroups;
  // Where registers allow, a residual is loaded one step ahead.
  constexpr bool kAhead = kTail == kTailResidual && Config::kRowBlocks * Config::kColBlocks * Config::kWidth <= 256;
  const Epilogue& e = p.epilogue;
  const MatmulStaging staging = matmul_staging(stagingBase);
  const int row = rowOffset + (threadIdx.x % 128 / 32) * 16 + (threadIdx.x & 31) / 4;
  const int col0 = index.n * Config::kTileN / (Config::kGeglu ? 2 : 1), chunk = 8 * (threadIdx.x & 3);
#pragma unroll
  for (int m = 0; m < Config::kRowBlocks; ++m) {
    const MatmulRow<T> row0 = matmul_row<Config, kTail>(p, index, row + 64 * m, col0);
    const MatmulRow<T> row1 = matmul_row<Config, kTail>(p, index, row + 64 * m + 8, col0);
    uint4 next[2];
    if (kAhead) {
      next[0] = matmul_line(row0.residual, 0, col0 + chunk < e.n);
      next[1] = matmul_line(row1.residual, 0, col0 + chunk < e.n);
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int offset = step * 32;
      const bool inside = col0 + offset + chunk < e.n;
      float2 values[4][2];
      uint4 lines[2];
      if (kAhead) {
        lines[0] = next[0];
        lines[1] = next[1];
      } else if (kTail == kTailResidual) {
        lines[0] = matmul_line(row0.residual, offset, inside);
        lines[1] = matmul_line(row1.residual, offset, inside);
      }
      if (kAhead && step + 1 < kSteps) {
        next[0] = matmul_line(row0.residual, offset + 32, col0 + offset + 32 + chunk < e.n);
        next[1] = matmul_line(row1.residual, offset + 32, col0 + offset + 32 + chunk < e.n);
      }
      matmul_sums<Config>(e, acc[m][step / kGroups], step % kGroups, bias + offset, values);
      if constexpr (kTail == kTailResidual) matmul_add_lines<T>(staging, lines, e.residualScale, values);
      if constexpr (kTail == kTailAny) {
        const int col = col0 + offset;
        if (!framed) {
          matmul_add_frame_bias<T>(e, row0.pixel, 0, col, values);
          matmul_add_frame_bias<T>(e, row1.pixel, 1, col, values);
        }
        if (e.residual)
          matmul_add_operand<T>(staging, e.residual, e.residualPitch, e.residualScale, row0.pixel, row1.pixel, col, inside, values);
        if (e.residual2)
          matmul_add_operand<T>(staging, e.residual2, e.residual2Pitch, e.residual2Scale, row0.pixel, row1.pixel, col, inside, values);
      }
      matmul_store_lines<T>(staging, values, row0.y, row1.y, offset, inside);
      if constexpr (Config::kMoments) {
        matmul_slab_moments<Config>(stagingBase, m, step);
        __syncwarp();
      }
    }
  }
}

/** Brings the residual of this warpgroup's tile towards L2 while the products run. */
template <class Config>
__device__ __forceinline__ void matmul_prefetch(const MatmulSm90Params& p, const MatmulTileIndex& index, int rowOffset) {
  using T = typename Config::T;
  if (p.epilogue.residual == nullptr) return;
  constexpr int kChannels = Config::kTileN / (Config::kGeglu ? 2 : 1);
  const PixelBox box = tile_box<Config>(p, index.m);
  for (int row = threadIdx.x % 128; row < Config::kRows; row += 128) {
    const int64_t pixel = matmul_pixel(p, box, index.phase, index.m < p.numMTiles, rowOffset + row);
    if (pixel < 0) continue;
    const T* at = static_cast<const T*>(p.epilogue.residual) + pixel * p.epilogue.residualPitch + index.n * kChannels;
    const int count = min(kChannels, p.epilogue.n - index.n * kChannels);
    for (int c = 0; c < count; c += 64) ptx::prefetch_l2(at + c);
  }
}

template <class Config>
__device__ __forceinline__ void matmul_store(const MatmulSm90Params& p,
                                             const float (&acc)[Config::kRowBlocks][Config::kColBlocks][Config::kWidth / 2],
                                             const MatmulTileIndex& index, int rowOffset, const float* bias, uint32_t staging,
                                             bool framed) {
  if constexpr (Config::kActivation || Config::kGeneric) {
    matmul_store_branchy<Config>(p, acc, index, rowOffset);
  } else {
    const Epilogue& e = p.epilogue;
    if (!framed || e.residual2) matmul_store_tail<Config, kTailAny>(p, acc, index, rowOffset, bias, staging, framed);
    else if (e.residual) matmul_store_tail<Config, kTailResidual>(p, acc, index, rowOffset, bias, staging, true);
    else matmul_store_tail<Config, kTailBias>(p, acc, index, rowOffset, bias, staging, true);
    if constexpr (Config::kMoments) matmul_merge_slabs<Config>(p, index, staging);
  }
}

}  // namespace vd::device
