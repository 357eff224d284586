// The transforms of Winograd's F(4x4, 3x3) in float16, sums in float32; between them, one product per position runs on conv's matrix
// core (36 groups of channels). Points 0, ±2/3, ±3/2 and infinity: the products of neighbours are one, and the error is half of that of
// the points 0, ±1, ±2.
//
// Input: a block loads 6 rows of 34 pixels of 64 channels once, normalises and activates them once (8 tiles of 6x6 overlap by half), and
// keeps them in shared memory; then a warp transforms a tile, two channels a lane, and stores lines of 128 bytes.
// Output: a warp reads the 36 lines of a tile, transforms them in registers, adds the tail and stores 16 lines.
// Symbols: winograd_input_f16, winograd_output_f16. Figures: docs/kernels/conv_winograd.md.
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "winograd_params.h"

namespace vd::device {

constexpr float kA = 2.0f / 3.0f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB, kSum2 = kA2 + kB2;
constexpr int kInputPixels = kWinogradStep * kWinogradTiles + 2;  // in a row of a block

/** Bᵀ d. */
__device__ __forceinline__ void winograd_input(const float (&d)[6], float (&v)[6]) {
  const float evenA = fmaf(-kB2, d[2], d[4]), oddA = fmaf(kA, d[3], -kB * d[1]);
  const float evenB = fmaf(-kA2, d[2], d[4]), oddB = fmaf(kB, d[3], -kA * d[1]);
  v[0] = fmaf(-kSum2, d[2], d[0] + d[4]);
  v[1] = evenA + oddA;
  v[2] = evenA - oddA;
  v[3] = evenB + oddB;
  v[4] = evenB - oddB;
  v[5] = fmaf(-kSum2, d[3], d[1] + d[5]);
}

/** Aᵀ m. */
__device__ __forceinline__ void winograd_output(const float (&m)[6], float (&y)[4]) {
  const float evenA = m[1] + m[2], oddA = m[1] - m[2], evenB = m[3] + m[4], oddB = m[3] - m[4];
  y[0] = m[0] + evenA + evenB;
  y[1] = fmaf(kA, oddA, kB * oddB);
  y[2] = fmaf(kA2, evenA, kB2 * evenB);
  y[3] = fmaf(kA2 * kA, oddA, fmaf(kB2 * kB, oddB, m[5]));
}

/** Scale and shift of eight channels from `c` of a frame. */
struct WinogradAffine {
  float scale[8], shift[8];
};
__device__ __forceinline__ WinogradAffine winograd_affine(const WinogradInputParams& p, int frame, int c) {
  WinogradAffine affine;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float* stats = p.stats + (static_cast<int64_t>(frame / p.framesPerRow) * p.groups + (c + i) / p.groupChannels) * p.statsPitch;
    affine.scale[i] = __ldg(stats + 1) * load_any(p.normWeight, p.normWeightType, c + i);
    affine.shift[i] = fmaf(-__ldg(stats), affine.scale[i], load_any(p.normBias, p.normBiasType, c + i));
  }
  return affine;
}

/** Loads the block's pixels into shared memory, zeros around the frame. All loads of a thread are under way before the first is used. */
__device__ __forceinline__ void winograd_load(const WinogradInputParams& p, int frame, int top, int left, int firstChannel,
                                              uint4 (*pixels)[8]) {
  constexpr int kPixels = 6 * kInputPixels, kStep = kWinogradThreads / 8, kLoads = (kPixels + kStep - 1) / kStep;
  const int part = threadIdx.x % 8, c = firstChannel + part * 8;
  const bool there = c < p.channels + p.channels2, second = c >= p.channels;
  const __half* x = static_cast<const __half*>(second ? p.x2 : p.x) + (second ? c - p.channels : c);
  const int64_t pitch = second ? p.pitch2 : p.pitch, first = static_cast<int64_t>(frame) * p.tiles.height * p.tiles.width;
  uint4 lines[kLoads];
  bool inside[kLoads];
#pragma unroll
  for (int n = 0; n < kLoads; ++n) {
    const int i = threadIdx.x / 8 + n * kStep, h = top + i / kInputPixels, w = left + i % kInputPixels;
    inside[n] = there && i < kPixels && h >= 0 && h < p.tiles.height && w >= 0 && w < p.tiles.width;
    lines[n] = inside[n] ? __ldg(reinterpret_cast<const uint4*>(x + (first + h * p.tiles.width + w) * pitch)) : make_uint4(0, 0, 0, 0);
  }
  WinogradAffine affine;
  if (there && p.stats) affine = winograd_affine(p, frame, c);
#pragma unroll
  for (int n = 0; n < kLoads; ++n) {
    const int i = threadIdx.x / 8 + n * kStep;
    if (inside[n] && p.stats) {
      float v[8];
      unpack8<__half>(lines[n], v);
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], affine.scale[k], affine.shift[k]);
      activate(v, p.act);
      lines[n] = pack8<__half>(v);
    }
    if (i < kPixels) pixels[i][part] = lines[n];
  }
}

/** Block (64 channels, 8 tiles of a row). */
__device__ __forceinline__ void winograd_input_tiles(const WinogradInputParams& p) {
  __shared__ uint4 pixels[6 * kInputPixels][8];
  const int across = (p.tiles.tilesAcross + kWinogradTiles - 1) / kWinogradTiles;
  const int row = p.tiles.firstRow + blockIdx.y / across, frame = row / p.tiles.tilesDown;
  const int firstTile = blockIdx.y % across * kWinogradTiles, firstChannel = blockIdx.x * kWinogradChannels;
  winograd_load(p, frame, row % p.tiles.tilesDown * kWinogradStep - 1, firstTile * kWinogradStep - 1, firstChannel, pixels);
  __syncthreads();
  const int warp = threadIdx.x / 32, c = firstChannel + threadIdx.x % 32 * 2, channels = p.channels + p.channels2;
  if (firstTile + warp >= p.tiles.tilesAcross || c >= channels) return;
  const auto* source = reinterpret_cast<const __half2*>(pixels) + threadIdx.x % 32 + warp * kWinogradStep * 32;
  float t[2][6][6];
#pragma unroll
  for (int j = 0; j < 6; ++j) {
    float d[2][6], v[2][6];
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      const float2 pair = __half22float2(source[(i * kInputPixels + j) * 32]);
      d[0][i] = pair.x;
      d[1][i] = pair.y;
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      winograd_input(d[k], v[k]);
#pragma unroll
      for (int i = 0; i < 6; ++i) t[k][i][j] = v[k][i];
    }
  }
  const int64_t tile = static_cast<int64_t>(row - p.tiles.firstRow) * p.tiles.tilesAcross + firstTile + warp;
  __half* target = static_cast<__half*>(p.v) + tile * kWinogradPositions * channels + c;
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    float v[2][6];
#pragma unroll
    for (int k = 0; k < 2; ++k) winograd_input(t[k][i], v[k]);
#pragma unroll
    for (int j = 0; j < 6; ++j) *reinterpret_cast<__half2*>(target + (i * 6 + j) * channels) = __floats2half2_rn(v[0][j], v[1][j]);
  }
}

/** Adds scale · two channels of a residual. */
__device__ __forceinline__ void add_pair(float2& v, const void* source, int64_t offset, float scale) {
  const float2 r = __half22float2(__ldg(reinterpret_cast<const __half2*>(static_cast<const __half*>(source) + offset)));
  v.x = fmaf(scale, r.x, v.x);
  v.y = fmaf(scale, r.y, v.y);
}

/** The tail for two channels of a pixel; base: their biases. */
__device__ __forceinline__ void winograd_finish(const Epilogue& e, float2 v, float2 base, int64_t pixel, int c) {
  float values[2] = {v.x + base.x, v.y + base.y};
  activate(values, e.act);
  v = make_float2(values[0] * e.outScale, values[1] * e.outScale);
  if (e.residual) add_pair(v, e.residual, pixel * e.residualPitch + c, e.residualScale);
  if (e.residual2) add_pair(v, e.residual2, pixel * e.residual2Pitch + c, e.residual2Scale);
  *reinterpret_cast<__half2*>(static_cast<__half*>(e.y) + pixel * e.yPitch + c) = __floats2half2_rn(v.x, v.y);
}

/** Block (64 columns, 8 tiles). */
__device__ __forceinline__ void winograd_output_tiles(const WinogradOutputParams& p) {
  const Epilogue& e = p.epilogue;
  const int tile = blockIdx.y * kWinogradTiles + threadIdx.x / 32, c = blockIdx.x * kWinogradChannels + threadIdx.x % 32 * 2;
  if (tile >= p.tiles.numRows * p.tiles.tilesAcross || c >= e.n) return;
  const auto* m = static_cast<const __half*>(p.m) + static_cast<int64_t>(tile) * kWinogradPositions * e.n + c;
  float t[2][4][6];
#pragma unroll
  for (int j = 0; j < 6; ++j) {
    float d[2][6], v[2][4];
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      const float2 pair = __half22float2(__ldg(reinterpret_cast<const __half2*>(m + (i * 6 + j) * e.n)));
      d[0][i] = pair.x;
      d[1][i] = pair.y;
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      winograd_output(d[k], v[k]);
#pragma unroll
      for (int i = 0; i < 4; ++i) t[k][i][j] = v[k][i];
    }
  }
  const int row = p.tiles.firstRow + tile / p.tiles.tilesAcross, frame = row / p.tiles.tilesDown;
  const int h = row % p.tiles.tilesDown * kWinogradStep, w = tile % p.tiles.tilesAcross * kWinogradStep;
  float2 base = e.bias ? __ldg(reinterpret_cast<const float2*>(static_cast<const float*>(e.bias) + c)) : make_float2(0.0f, 0.0f);
  if (e.frameBias) add_pair(base, e.frameBias, frame_bias_row(e, static_cast<uint32_t>(frame)) + c, 1.0f);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float y[2][4];
#pragma unroll
    for (int k = 0; k < 2; ++k) winograd_output(t[k][i], y[k]);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (h + i >= p.tiles.height || w + j >= p.tiles.width) continue;
      const int64_t pixel = (static_cast<int64_t>(frame) * p.tiles.height + h + i) * p.tiles.width + w + j;
      winograd_finish(e, make_float2(y[0][j], y[1][j]), base, pixel, c);
    }
  }
}

}  // namespace vd::device

using namespace vd::device;

VD_KERNEL(winograd_input_f16, WinogradInputParams, kWinogradThreads, 2, winograd_input_tiles)
VD_KERNEL(winograd_output_f16, WinogradOutputParams, kWinogradThreads, 2, winograd_output_tiles)
