// The transforms of Winograd's F(4x4, 3x3) in float16, sums in float32; between them, one product per position runs on conv's matrix
// core (36 groups of channels). Points 0, ±2/3, ±3/2 and infinity: the products of neighbours are one, and the error is half of that of
// the points 0, ±1, ±2.
//
// Input: a block loads 6 rows of 34 pixels of 64 channels once, normalises and activates them once (8 tiles of 6x6 overlap by half), and
// keeps them in shared memory; then a warp transforms a tile, two channels a lane, and stores lines of 128 bytes.
// Output: a warp reads the 36 lines of a tile, transforms them in registers, adds the tail and stores 16 lines.
// Filters, when a program is loaded: a thread has the nine taps of two channels, and stores both at each of 36 positions.
// Symbols: winograd_input_f16, winograd_output_f16, winograd_filters. Figures: docs/kernels/conv_winograd.md.
#include "../../device/elementwise.cuh"
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/pack.h"
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

/** What a norm multiplies channel `c` of a frame with, and what it adds. */
__device__ __forceinline__ float2 winograd_affine(const WinogradInputParams& p, int frame, int c) {
  const float* stats = p.stats + (static_cast<int64_t>(frame / p.framesPerRow) * p.groups + c / p.groupChannels) * p.statsPitch;
  const float scale = __ldg(stats + 1) * load_any(p.normWeight, p.normWeightType, c);
  return make_float2(scale, fmaf(-__ldg(stats), scale, load_any(p.normBias, p.normBiasType, c)));
}

/** Normalises eight channels and activates them. */
template <bool kSiluOnly> __device__ __forceinline__ uint4 winograd_normed(uint4 line, const float4 (&affine)[4], int act) {
  float v[8];
  unpack8<__half>(line, v);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    v[2 * k] = fmaf(v[2 * k], affine[k].x, affine[k].y);
    v[2 * k + 1] = fmaf(v[2 * k + 1], affine[k].z, affine[k].w);
  }
  activate(v, kSiluOnly ? kSilu : act);
  return pack8<__half>(v);
}

/** The lines of 16 bytes that a thread loads of a block's pixels: one of each row, and some threads one of the last two columns. */
struct WinogradLines {
  static constexpr int kColumns = kWinogradThreads / 8, kRows = 6, kMore = kInputPixels - kColumns;
  uint4 line[kRows + 1];
  bool inside[kRows + 1];

  static __device__ __forceinline__ bool has_last() { return threadIdx.x < kRows * kMore * 8; }
  /** Where line `n` lies in the block, of which the last is another one for each eight threads. */
  static __device__ __forceinline__ int row(int n) { return n < kRows ? n : static_cast<int>(threadIdx.x) / 8 / kMore; }
  static __device__ __forceinline__ int column(int n) {
    return n < kRows ? static_cast<int>(threadIdx.x) / 8 : kColumns + static_cast<int>(threadIdx.x) / 8 % kMore;
  }
};

/** Loads the block's pixels into shared memory, zeros around the frame, and normalises them where there are statistics. All loads of a
 *  thread are under way before the first is used; affines: room for those of the block's channels. */
__device__ __forceinline__ void winograd_load(const WinogradInputParams& p, int frame, int top, int left, int firstChannel,
                                              uint4 (*pixels)[8], float4(*affines)) {
  using Lines = WinogradLines;
  const int part = threadIdx.x % 8, c = firstChannel + part * 8, channels = p.channels + p.channels2;
  const bool there = c < channels, second = c >= p.channels;
  const __half* x = static_cast<const __half*>(second ? p.x2 : p.x) + (second ? c - p.channels : c);
  const int64_t pitch = second ? p.pitch2 : p.pitch, first = static_cast<int64_t>(frame) * p.tiles.height * p.tiles.width;
  Lines lines;
#pragma unroll
  for (int n = 0; n <= Lines::kRows; ++n) {
    const int h = top + Lines::row(n), w = left + Lines::column(n);
    lines.inside[n] = there && h >= 0 && h < p.tiles.height && w >= 0 && w < p.tiles.width && (n < Lines::kRows || Lines::has_last());
    lines.line[n] = make_uint4(0, 0, 0, 0);
    if (lines.inside[n]) lines.line[n] = __ldg(reinterpret_cast<const uint4*>(x + (first + h * p.tiles.width + w) * pitch));
  }
  if (p.stats) {
    // Each channel's by one thread: loads of eight would wait for each other.
    const int own = firstChannel + static_cast<int>(threadIdx.x);
    if (threadIdx.x < kWinogradChannels && own < channels) reinterpret_cast<float2*>(affines)[threadIdx.x] = winograd_affine(p, frame, own);
    __syncthreads();
    float4 affine[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) affine[k] = affines[part * 4 + k];
    if (p.act == kSilu) {
#pragma unroll
      for (int n = 0; n <= Lines::kRows; ++n)
        if (lines.inside[n]) lines.line[n] = winograd_normed<true>(lines.line[n], affine, kSilu);
    } else {
#pragma unroll
      for (int n = 0; n <= Lines::kRows; ++n)
        if (lines.inside[n]) lines.line[n] = winograd_normed<false>(lines.line[n], affine, p.act);
    }
  }
#pragma unroll
  for (int n = 0; n <= Lines::kRows; ++n)
    if (n < Lines::kRows || Lines::has_last()) pixels[Lines::row(n) * kInputPixels + Lines::column(n)][part] = lines.line[n];
}

/** Block (64 channels, 8 tiles of a row). */
__device__ __forceinline__ void winograd_input_tiles(const WinogradInputParams& p) {
  __shared__ uint4 pixels[6 * kInputPixels][8];
  __shared__ float4 affines[kWinogradChannels / 2];  // of two channels: scale, shift, scale, shift
  const int across = (p.tiles.tilesAcross + kWinogradTiles - 1) / kWinogradTiles;
  const int row = p.tiles.firstRow + blockIdx.y / across, frame = row / p.tiles.tilesDown;
  const int firstTile = blockIdx.y % across * kWinogradTiles, firstChannel = blockIdx.x * kWinogradChannels;
  winograd_load(p, frame, row % p.tiles.tilesDown * kWinogradStep - 1, firstTile * kWinogradStep - 1, firstChannel, pixels, affines);
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

/** Two channels of an operand. */
__device__ __forceinline__ float2 load_pair(const void* source, int64_t offset) {
  return __half22float2(__ldg(reinterpret_cast<const __half2*>(static_cast<const __half*>(source) + offset)));
}

/** Where a tile's results lie, and which of them are in the frame. */
struct WinogradPlace {
  int64_t pixel;  // of the first
  int width, rows, columns;
  __device__ __forceinline__ int64_t at(int i, int j) const { return pixel + static_cast<int64_t>(i) * width + j; }
  __device__ __forceinline__ bool has(int i, int j) const { return i < rows && j < columns; }
};

/** Adds scale · four pixels of a residual, of which all are asked for before the first is used. */
__device__ __forceinline__ void winograd_add(float (&v)[8], const WinogradPlace& place, int i, const void* source, int64_t pitch,
                                             float scale, int c) {
  float2 r[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) r[j] = place.has(i, j) ? load_pair(source, place.at(i, j) * pitch + c) : make_float2(0.0f, 0.0f);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    v[2 * j] = fmaf(scale, r[j].x, v[2 * j]);
    v[2 * j + 1] = fmaf(scale, r[j].y, v[2 * j + 1]);
  }
}

/** The tail for two channels of the four pixels of row `i`. residual: those of `e.residual`, where there is one. */
__device__ __forceinline__ void winograd_finish(const Epilogue& e, float (&v)[8], const WinogradPlace& place, int i,
                                                const __half2 (&residual)[4], int c) {
  activate(v, e.act);
#pragma unroll
  for (int k = 0; k < 8; ++k) v[k] *= e.outScale;
  if (e.residual) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 r = __half22float2(residual[j]);
      v[2 * j] = fmaf(e.residualScale, r.x, v[2 * j]);
      v[2 * j + 1] = fmaf(e.residualScale, r.y, v[2 * j + 1]);
    }
  }
  if (e.residual2) winograd_add(v, place, i, e.residual2, e.residual2Pitch, e.residual2Scale, c);
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (place.has(i, j))
      *reinterpret_cast<__half2*>(static_cast<__half*>(e.y) + place.at(i, j) * e.yPitch + c) = __floats2half2_rn(v[2 * j], v[2 * j + 1]);
}

/** Block (64 columns, 8 tiles). */
__device__ __forceinline__ void winograd_output_tiles(const WinogradOutputParams& p) {
  const Epilogue& e = p.epilogue;
  const int tile = blockIdx.y * kWinogradTiles + threadIdx.x / 32, c = blockIdx.x * kWinogradChannels + threadIdx.x % 32 * 2;
  if (tile >= p.tiles.numRows * p.tiles.tilesAcross || c >= e.n) return;
  const auto* m = static_cast<const __half*>(p.m) + static_cast<int64_t>(tile) * kWinogradPositions * e.n + c;
  const int row = p.tiles.firstRow + tile / p.tiles.tilesAcross, frame = row / p.tiles.tilesDown;
  const int h = row % p.tiles.tilesDown * kWinogradStep, w = tile % p.tiles.tilesAcross * kWinogradStep;
  const WinogradPlace place{(static_cast<int64_t>(frame) * p.tiles.height + h) * p.tiles.width + w, p.tiles.width, p.tiles.height - h,
                            p.tiles.width - w};
  __half2 residual[4][4];
  if (e.residual) {
    // Before the products are there: behind them, each would be waited for.
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (place.has(i, j))
          residual[i][j] =
              __ldg(reinterpret_cast<const __half2*>(static_cast<const __half*>(e.residual) + place.at(i, j) * e.residualPitch + c));
  }
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
  float2 base = e.bias ? __ldg(reinterpret_cast<const float2*>(static_cast<const float*>(e.bias) + c)) : make_float2(0.0f, 0.0f);
  if (e.frameBias) {
    const float2 more = load_pair(e.frameBias, frame_bias_row(e, static_cast<uint32_t>(frame)) + c);
    base = make_float2(base.x + more.x, base.y + more.y);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float y[2][4], v[8];
#pragma unroll
    for (int k = 0; k < 2; ++k) winograd_output(t[k][i], y[k]);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      v[2 * j] = y[0][j] + base.x;
      v[2 * j + 1] = y[1][j] + base.y;
    }
    winograd_finish(e, v, place, i, residual[i], c);
  }
}

/** Factor of tap `i` of three at a point of F(4, 3): row `point` of G. */
__host__ __device__ constexpr float winograd_factor(int point, int i) {
  if (point == 0 || point == 5) return i == (point == 0 ? 0 : 2) ? 1.0f : 0.0f;
  const float own = point < 3 ? kA : kB, other = point < 3 ? kB : kA;
  const float power = i == 0 ? 1.0f : i == 1 ? (point % 2 == 1 ? own : -own) : own * own;
  return power / (2.0f * own * own * (own * own - other * other));
}

/** Position `position` of 6x6 of the transformed filter. */
template <int position> __device__ __forceinline__ float winograd_filter(const float (&taps)[9]) {
  float sum = 0.0f;
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int s = 0; s < 3; ++s) sum += winograd_factor(position / 6, r) * winograd_factor(position % 6, s) * taps[r * 3 + s];
  return sum;
}

/** Stores two channels' filters at the positions from `position` on, `stride` pairs apart. */
template <int position>
__device__ __forceinline__ void winograd_store_filters(const float (&first)[9], const float (&second)[9], __half2* target, int64_t stride) {
  if constexpr (position < kWinogradPositions) {
    *target = __floats2half2_rn(winograd_filter<position>(first), winograd_filter<position>(second));
    winograd_store_filters<position + 1>(first, second, target + stride, stride);
  }
}

/** G g Gᵀ of all filters, [K,C,1,3,3] → [36,K,C] in float16; C is even. */
__device__ __forceinline__ void winograd_all_filters(const PackParams& p) {
  const int64_t pairs = int64_t{p.rows} * p.channels / 2;
  for_each_item(pairs, [&](int64_t i) {
    float first[9], second[9];
#pragma unroll
    for (int tap = 0; tap < 9; ++tap) {
      first[tap] = load_any(p.source, p.sourceType, i * 18 + tap);
      second[tap] = load_any(p.source, p.sourceType, i * 18 + 9 + tap);
    }
    winograd_store_filters<0>(first, second, static_cast<__half2*>(p.target) + i, pairs);
  });
}

}  // namespace vd::device

using namespace vd::device;

VD_KERNEL(winograd_filters, PackParams, 256, 2, winograd_all_filters)
VD_KERNEL(winograd_input_f16, WinogradInputParams, kWinogradThreads, 3, winograd_input_tiles)
VD_KERNEL(winograd_output_f16, WinogradOutputParams, kWinogradThreads, 3, winograd_output_tiles)
