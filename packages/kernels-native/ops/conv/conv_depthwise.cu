// Depthwise convolutions of the usual filters. They are bound by memory: a thread with eight channels of two neighbouring columns
// slides down its rows, so that it loads every source pixel once, and not once for every row of the filter.
//
// Results under way are those of the last rows whose filters reach the row at hand: sums[a] is of the row a steps before the newest.
// Filters of one frame stay in registers where they are small; others come from the first-level cache.
// Symbols: conv_depthwise_<rows>x<columns>s<step>[_held]_<dtype>.
#include "../../device/elementwise.cuh"
#include "../../device/matmul_mma.cuh"
#include "conv_groups_params.h"

namespace vd::device {

/** Element type, rows and columns of a filter, its step in both, whether filters of one frame stay in registers. */
template <class T_, int kRows_, int kColumns_, int kStep_, bool kHeld_> struct DepthwiseConfig {
  using T = T_;
  static constexpr int kRows = kRows_, kColumns = kColumns_, kStep = kStep_;
  static constexpr bool kHeld = kHeld_;
  static constexpr int kSources = (kColumnPixels - 1) * kStep + kColumns;  // columns that a thread reads
  static constexpr int kSums = (kRows + kStep - 1) / kStep;                // rows of results that a source row counts for, at most
};

/** What a thread computes: its channels, first column and rows of a frame, and where the first one reads. */
struct DepthwiseStrip {
  int channel, rows, columns;
  int frame, row, column;  // of the source, may lie outside
  int64_t base, pixel;     // the batch's first source pixel; the first result's number
};
__device__ __forceinline__ DepthwiseStrip depthwise_strip(const ConvGroupsParams& g, int64_t item) {
  const MatmulMmaParams& p = g.conv;
  const int eights = p.columns / 8, across = (p.out[2] + kColumnPixels - 1) / kColumnPixels,
            down = (p.out[1] + g.stripRows - 1) / g.stripRows;
  const int64_t strip = item / eights, line = strip / across, frame = line / down;
  const int q = static_cast<int>(strip % across) * kColumnPixels, row = static_cast<int>(line % down) * g.stripRows;
  DepthwiseStrip s;
  s.channel = static_cast<int>(item % eights) * 8;
  s.rows = min(g.stripRows, p.out[1] - row);
  s.columns = min(kColumnPixels, p.out[2] - q);
  s.frame = static_cast<int>(frame % p.out[0]) * p.stride[0] - p.padding[0];
  s.row = row * p.stride[1] - p.padding[1];
  s.column = q * p.stride[2] - p.padding[2];
  s.base = frame / p.out[0] * p.source[0] * p.source[1] * p.source[2];
  s.pixel = (frame * p.out[1] + row) * p.out[2] + q;
  return s;
}

/** A thread's columns of one source row; those in the padding are not loaded. */
template <class Config> struct DepthwiseSources {
  Raw8<typename Config::T> raw[Config::kSources];
  uint32_t inside;

  /** Of the f-th frame of the filter. */
  __device__ __forceinline__ void load(const MatmulMmaParams& p, const DepthwiseStrip& s, int f, int row) {
    inside = 0;
    const ClipLine<typename Config::T> line = clip_line<typename Config::T>(p, s.base, s.frame + f, row);
    if (line.pixels == nullptr) return;
#pragma unroll
    for (int x = 0; x < Config::kSources; ++x) {
      const int w = s.column + x;
      if (w < 0 || w >= p.source[2]) continue;
      inside |= 1u << x;
      load_raw8(line.pixels + w * line.pitch + s.channel, raw[x]);
    }
  }
};

/** A row of the filter for a thread's channels, in the type of x: half of the registers of floats. */
template <class Config> struct DepthwiseWeights {
  Raw8<typename Config::T> raw[Config::kColumns];

  __device__ __forceinline__ void load(const MatmulMmaParams& p, int row, int channel) {
    using T = typename Config::T;
    const T* filter = static_cast<const T*>(p.weights) + static_cast<int64_t>(row) * Config::kColumns * p.columns + channel;
#pragma unroll
    for (int tap = 0; tap < Config::kColumns; ++tap) load_raw8(filter + static_cast<int64_t>(tap) * p.columns, raw[tap]);
  }
};

/** Adds the products of a source row with one row of the filter. */
template <class Config>
__device__ __forceinline__ void depthwise_add(const DepthwiseSources<Config>& sources, const DepthwiseWeights<Config>& weights,
                                              float (&sums)[kColumnPixels][8]) {
#pragma unroll
  for (int x = 0; x < Config::kSources; ++x) {
    if (!(sources.inside >> x & 1)) continue;
    float v[8];
    unpack_raw8(sources.raw[x], v);
#pragma unroll
    for (int i = 0; i < kColumnPixels; ++i) {
      const int tap = x - i * Config::kStep;
      if (tap < 0 || tap >= Config::kColumns) continue;
      float weight[8];
      unpack_raw8(weights.raw[tap], weight);
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[i][e] = fmaf(v[e], weight[e], sums[i][e]);
    }
  }
}

/** Stores the oldest results, which step `step` completed, and makes room for new ones. */
template <class Config>
__device__ __forceinline__ void depthwise_store(const MatmulMmaParams& p, const DepthwiseStrip& s, int step,
                                                float (&sums)[Config::kSums][kColumnPixels][8]) {
  constexpr int kLast = Config::kSums - 1;
  const int row = step - kLast;
#pragma unroll
  for (int i = 0; i < kColumnPixels; ++i)
    if (row >= 0 && i < s.columns)
      epilogue8(p.epilogue, sums[kLast][i], s.pixel + static_cast<int64_t>(row) * p.out[2] + i, s.channel, false);
#pragma unroll
  for (int a = kLast; a >= 0; --a)
#pragma unroll
    for (int i = 0; i < kColumnPixels; ++i)
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[a][i][e] = a > 0 ? sums[a > 0 ? a - 1 : 0][i][e] : 0.0f;
}

/** All rows of a strip, with the filter in registers; a row is loaded while the one before is multiplied. */
template <class Config> __device__ __forceinline__ void depthwise_held(const MatmulMmaParams& p, const DepthwiseStrip& s) {
  static_assert(Config::kStep == 1, "a step takes one source row");
  float sums[Config::kSums][kColumnPixels][8] = {};
  DepthwiseWeights<Config> weights[Config::kRows];
#pragma unroll
  for (int row = 0; row < Config::kRows; ++row) weights[row].load(p, row, s.channel);
  DepthwiseSources<Config> sources, next;
  next.load(p, s, 0, s.row);
#pragma unroll 1
  for (int step = 0; step < s.rows + Config::kSums - 1; ++step) {
    sources = next;
    next.load(p, s, 0, s.row + step + 1);
#pragma unroll
    for (int a = 0; a < Config::kSums; ++a) depthwise_add<Config>(sources, weights[a], sums[a]);
    depthwise_store<Config>(p, s, step, sums);
  }
}

/** All rows of a strip; a row is loaded while the one before is multiplied. */
template <class Config> __device__ __forceinline__ void depthwise_column(const MatmulMmaParams& p, const DepthwiseStrip& s) {
  float sums[Config::kSums][kColumnPixels][8] = {};
  DepthwiseSources<Config> sources, next;
  next.load(p, s, 0, s.row);
#pragma unroll 1
  for (int step = 0; step < s.rows + Config::kSums - 1; ++step) {
#pragma unroll
    for (int j = 0; j < Config::kStep; ++j)
#pragma unroll 1
      for (int f = 0; f < p.kernel[0]; ++f) {
        const int row = s.row + step * Config::kStep + j;
        const bool last = f + 1 == p.kernel[0];
        sources = next;
        next.load(p, s, last ? 0 : f + 1, last ? row + 1 : row);
#pragma unroll
        for (int a = 0; a < Config::kSums; ++a) {
          const int line = a * Config::kStep + j;
          if (line >= Config::kRows) continue;
          DepthwiseWeights<Config> weights;
          weights.load(p, f * Config::kRows + line, s.channel);
          depthwise_add<Config>(sources, weights, sums[a]);
        }
      }
    depthwise_store<Config>(p, s, step, sums);
  }
}

template <class Config> __device__ __forceinline__ void conv_depthwise_columns(const ConvGroupsParams& g) {
  for_each_item(g.items, [&](int64_t item) {
    const DepthwiseStrip strip = depthwise_strip(g, item);
    if constexpr (Config::kHeld) depthwise_held<Config>(g.conv, strip);
    else depthwise_column<Config>(g.conv, strip);
  });
}

}  // namespace vd::device

using namespace vd::device;

#define VD_DEPTHWISE(type, name, rows, columns, step, held, suffix, blocks)                                        \
  VD_KERNEL(conv_depthwise_##rows##x##columns##s##step##suffix##_##name, ConvGroupsParams, kColumnThreads, blocks, \
            conv_depthwise_columns<DepthwiseConfig<type, rows, columns, step, held>>)
#define VD_DEPTHWISE_ALL(type, name, blocks)             \
  VD_DEPTHWISE(type, name, 3, 3, 1, true, _held, blocks) \
  VD_DEPTHWISE(type, name, 3, 3, 1, false, , blocks)     \
  VD_DEPTHWISE(type, name, 3, 3, 2, false, , blocks)     \
  VD_DEPTHWISE(type, name, 5, 5, 1, false, , 2)          \
  VD_DEPTHWISE(type, name, 5, 5, 2, false, , blocks)

VD_DEPTHWISE_ALL(float, f32, 2)
VD_DEPTHWISE_ALL(__half, f16, 3)
VD_DEPTHWISE_ALL(__nv_bfloat16, bf16, 3)
