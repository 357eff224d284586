// Convolutions in which an output channel meets one channel or four of x, by filters of the usual sizes. They are bound by memory: 3x3
// filters for every channel have 18 FLOP for the 4 bytes that a channel of a pixel is read and written with in 16 bits.
//
// A warp works alone: it has neighbouring columns of results, a lane two channels of kPixels of them, and slides down. Lines of x come to a
// ring in shared memory several ahead of their use, zeros for what lies in the padding, so that the loop has neither bounds nor waits for
// registers. A lane reads its columns of a line once and adds their products to all rows of results that the line counts for: sums[a] is
// the row a steps before the newest. The filter is in registers as float32; that of several frames, where it is too large, comes anew with
// each line. Each result adds up its lines from top to bottom, frames before lines and columns from left to right, wherever strips begin.
// Symbols: conv_depthwise_<filter>s<step>[_c16]_<dtype>, conv_fours_<filter>s<step>[_c16]_<dtype>; c16: 16 channels a warp instead of 64.
#include "../../device/matmul_mma.cuh"
#include "conv_groups_params.h"

namespace vd::device {

/** Element type, channels of a group (1 or 4), frames of a filter (0: any number, its weights come with each line), its rows and columns,
 *  their step, a lane's columns of results, pairs of channels of a warp (32 or 8: what is left of it are more columns). */
template <class T_, int kGroup_, int kFrames_, int kRows_, int kColumns_, int kStep_, int kPixels_, int kPairs_> struct SlideConfig {
  using T = T_;
  static constexpr int kGroup = kGroup_, kFrames = kFrames_, kRows = kRows_, kColumns = kColumns_, kStep = kStep_;
  static constexpr int kPixels = kPixels_, kPairs = kPairs_;
  static constexpr int kInputs = kGroup == 1 ? 2 : kGroup;  // channels that a lane reads
  static constexpr int kTile = kPixels * (32 / kPairs);  // a warp's columns of results
  static constexpr int kSources = (kPixels - 1) * kStep + kColumns;  // columns that a lane reads
  static constexpr int kLineColumns = (kTile - 1) * kStep + kColumns;  // and a warp
  static constexpr int kSums = (kRows + kStep - 1) / kStep;  // rows of results that a line counts for, at most
  static constexpr int kLast = kRows - 1 - (kSums - 1) * kStep;  // the line of a step that completes the oldest of them
  static constexpr int kColumnBytes = 2 * kPairs * static_cast<int>(sizeof(T)), kLineBytes = kLineColumns * kColumnBytes;
  static constexpr int kMostStages = 49152 / kSlideWarps / kLineBytes, kStages = kMostStages < 8 ? kMostStages : 8;
  static constexpr int kChunks = kColumnBytes / 16, kPass = 32 / kChunks;  // 16-byte copies of a column; columns that a warp copies at once
  static constexpr int kCopies = (kLineColumns + kPass - 1) / kPass;
  static_assert(kStages >= 2 && kCopies <= 32, "a line is copied while another is used, and a mask has a bit for each copy");
};

/** What a warp computes: its first channel, rows and columns of a frame, and where the first one reads. */
struct SlideStrip {
  int channel, rows, columns;
  int frame, row, column;  // of the source, may lie outside
  int64_t base, pixel;  // the batch's first source pixel; the first result's number
};
template <class Config> __device__ __forceinline__ SlideStrip slide_strip(const ConvGroupsParams& g, uint32_t item) {
  const MatmulMmaParams& p = g.conv;
  const uint32_t blocks = (p.columns + 2 * Config::kPairs - 1) / (2 * Config::kPairs);
  const uint32_t across = (p.out[2] + Config::kTile - 1) / Config::kTile, down = (p.out[1] + g.stripRows - 1) / g.stripRows;
  const uint32_t tile = item / blocks, line = tile / across, frame = line / down, batch = frame / p.out[0];
  const int q = static_cast<int>(tile - line * across) * Config::kTile, row = static_cast<int>(line - frame * down) * g.stripRows;
  SlideStrip s;
  s.channel = static_cast<int>(item - tile * blocks) * 2 * Config::kPairs;
  s.rows = min(g.stripRows, p.out[1] - row);
  s.columns = min(Config::kTile, p.out[2] - q);
  s.frame = static_cast<int>(frame - batch * p.out[0]) * p.stride[0] - p.padding[0];
  s.row = row * p.stride[1] - p.padding[1];
  s.column = q * p.stride[2] - p.padding[2];
  s.base = static_cast<int64_t>(batch) * p.source[0] * p.source[1] * p.source[2];
  s.pixel = (static_cast<int64_t>(frame) * p.out[1] + row) * p.out[2] + q;
  return s;
}

/** Copies a warp's lines of x, each after the one above it in its frame. */
template <class Config> struct SlideCopies {
  using T = typename Config::T;
  const MatmulMmaParams& p;
  const SlideStrip& strip;
  ClipLine<T> frames[Config::kFrames > 0 ? Config::kFrames : 1];  // a lane's first element of the next line of each, where they are known
  int column, offset;  // a lane's first column of a line, and its elements there
  uint32_t slot, inside = 0;  // its place in a stage; a bit for each of its columns that x has
  uint32_t absent = 0;  // a bit for each frame in the padding

  __device__ __forceinline__ SlideCopies(const MatmulMmaParams& p_, const SlideStrip& strip_) : p(p_), strip(strip_) {
    const int lane = threadIdx.x & 31, chunk = lane % Config::kChunks * (16 / static_cast<int>(sizeof(T)));
    column = lane / Config::kChunks;
    offset = strip.channel + chunk;
    slot = lane * 16;
#pragma unroll
    for (int i = 0; i < Config::kCopies; ++i) {
      const int w = strip.column + column + i * Config::kPass;
      inside |= (w >= 0 && w < p.source[2] && offset < p.columns ? 1u : 0u) << i;
    }
#pragma unroll
    for (int f = 0; f < Config::kFrames; ++f) {
      frames[f] = clip_line<T>(p, strip.base, strip.frame + f, 0);
      absent |= (frames[f].pixels == nullptr ? 1u : 0u) << f;
      frames[f].pixels += (static_cast<int64_t>(strip.row) * p.source[2] + strip.column + column) * frames[f].pitch + offset;
    }
  }

  /** Starts copying line `row` of the strip in the f-th frame of the filter. */
  __device__ __forceinline__ void start(int f, int row, uint32_t stage) {
    const int h = strip.row + row;
    if constexpr (Config::kFrames > 0) {
      const bool valid = h >= 0 && h < p.source[1] && !(absent >> f & 1);
      copy(frames[f], valid, stage);
      frames[f].pixels += p.source[2] * frames[f].pitch;
    } else {
      ClipLine<T> line = clip_line<T>(p, strip.base, strip.frame + f, h);
      const bool valid = line.pixels != nullptr;
      line.pixels += static_cast<int64_t>(strip.column + column) * line.pitch + offset;
      copy(line, valid, stage);
    }
  }

 private:
  __device__ __forceinline__ void copy(const ClipLine<T>& line, bool valid, uint32_t stage) const {
    const uint32_t mask = valid ? inside : 0;
#pragma unroll
    for (int i = 0; i < Config::kCopies; ++i) {
      if ((i + 1) * Config::kPass > Config::kLineColumns && column + i * Config::kPass >= Config::kLineColumns) continue;
      ptx::copy16(stage + slot + i * 512, line.pixels + i * Config::kPass * line.pitch, mask >> i & 1);
    }
  }
};

/** The filters of a lane's two channels. */
template <class Config> struct SlideFilter {
  static constexpr int kTaps = Config::kRows * Config::kColumns;
  float weights[kTaps][Config::kGroup][2];

  /** Of the f-th frame. */
  __device__ __forceinline__ void load(const MatmulMmaParams& p, int f, int channel) {
    const float* from = static_cast<const float*>(p.weights) + static_cast<int64_t>(f) * kTaps * Config::kGroup * p.columns + channel;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
      for (int c = 0; c < Config::kGroup; ++c) {
        const float2 pair = __ldg(reinterpret_cast<const float2*>(from + static_cast<int64_t>(tap * Config::kGroup + c) * p.columns));
        weights[tap][c][0] = pair.x;
        weights[tap][c][1] = pair.y;
      }
  }
};

/** Two or four elements in shared memory as floats. */
template <class T, int kCount> __device__ __forceinline__ void load_inputs(const uint8_t* from, float (&v)[kCount]) {
  if constexpr (sizeof(T) == 4) {
    for (int i = 0; i < kCount; i += 2) {
      const float2 pair = *reinterpret_cast<const float2*>(from + 4 * i);
      v[i] = pair.x;
      v[i + 1] = pair.y;
    }
  } else {
    uint32_t words[kCount / 2];
    if constexpr (kCount == 4) {
      const uint2 both = *reinterpret_cast<const uint2*>(from);
      words[0] = both.x;
      words[1] = both.y;
    } else {
      words[0] = *reinterpret_cast<const uint32_t*>(from);
    }
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      const float2 pair = unpack2<T>(words[i / 2]);
      v[i] = pair.x;
      v[i + 1] = pair.y;
    }
  }
}

/** Adds the products of a line, the j-th of its step. columns: the lane's first one in shared memory. */
template <class Config, int j>
__device__ __forceinline__ void slide_add(const uint8_t* columns, const SlideFilter<Config>& filter,
                                          float (&sums)[Config::kSums][Config::kPixels][2]) {
  float v[Config::kSources][Config::kInputs];
#pragma unroll
  for (int x = 0; x < Config::kSources; ++x) load_inputs<typename Config::T>(columns + x * Config::kColumnBytes, v[x]);
#pragma unroll
  for (int x = 0; x < Config::kSources; ++x)
#pragma unroll
    for (int a = Config::kSums - 1; a >= 0; --a)
#pragma unroll
      for (int i = 0; i < Config::kPixels; ++i) {
        const int tap = x - i * Config::kStep, line = a * Config::kStep + j;
        if (tap < 0 || tap >= Config::kColumns || line >= Config::kRows) continue;
#pragma unroll
        for (int c = 0; c < Config::kGroup; ++c)
#pragma unroll
          for (int o = 0; o < 2; ++o)
            sums[a][i][o] = fmaf(v[x][Config::kGroup == 1 ? o : c], filter.weights[line * Config::kColumns + tap][c][o], sums[a][i][o]);
      }
}

template <class T> __device__ __forceinline__ float2 load_pair(const T* from) {
  if constexpr (sizeof(T) == 4) return __ldg(reinterpret_cast<const float2*>(from));
  else return unpack2<T>(__ldg(reinterpret_cast<const uint32_t*>(from)));
}
template <class T> __device__ __forceinline__ void store_pair(T* to, float a, float b) {
  if constexpr (sizeof(T) == 4) *reinterpret_cast<float2*>(to) = make_float2(a, b);
  else *reinterpret_cast<uint32_t*>(to) = pack2<T>(a, b);
}

/** The tail of a lane's results. Every operand has x's type but the bias, which is float32. */
template <class Config> struct SlideTail {
  using T = typename Config::T;
  const Epilogue& e;
  int channel, columns;  // the lane's first channel; how many of its columns there are
  float bias[2] = {0.0f, 0.0f};

  /** pixel: any of the frame. */
  __device__ __forceinline__ SlideTail(const Epilogue& e_, int64_t pixel, int channel_, int columns_)
      : e(e_), channel(channel_), columns(channel_ < e_.n ? columns_ : 0) {
    if (columns <= 0) return;
    if (e.bias) add(load_pair(static_cast<const float*>(e.bias) + channel));
    if (e.frameBias) add(load_pair(static_cast<const T*>(e.frameBias) + frame_bias_offset(e, pixel) + channel));
  }

  /** Stores a row of results, the first of which is `pixel`. */
  __device__ __forceinline__ void store(const float (&sums)[Config::kPixels][2], int64_t pixel) const {
    float v[2 * Config::kPixels];
#pragma unroll
    for (int i = 0; i < 2 * Config::kPixels; ++i) v[i] = sums[i / 2][i % 2] + bias[i % 2];
    activate(v, e.act);
#pragma unroll
    for (int i = 0; i < 2 * Config::kPixels; ++i) v[i] *= e.outScale;
    if (e.residual) add(v, static_cast<const T*>(e.residual) + pixel * e.residualPitch + channel, e.residualPitch, e.residualScale);
    if (e.residual2) add(v, static_cast<const T*>(e.residual2) + pixel * e.residual2Pitch + channel, e.residual2Pitch, e.residual2Scale);
    T* to = static_cast<T*>(e.y) + pixel * e.yPitch + channel;
#pragma unroll
    for (int i = 0; i < Config::kPixels; ++i)
      if (i < columns) store_pair(to + i * e.yPitch, v[2 * i], v[2 * i + 1]);
  }

 private:
  __device__ __forceinline__ void add(float2 pair) {
    bias[0] += pair.x;
    bias[1] += pair.y;
  }
  __device__ __forceinline__ void add(float (&v)[2 * Config::kPixels], const T* residual, int64_t pitch, float scale) const {
#pragma unroll
    for (int i = 0; i < Config::kPixels; ++i) {
      const float2 pair = i < columns ? load_pair(residual + i * pitch) : make_float2(0.0f, 0.0f);
      v[2 * i] = fmaf(scale, pair.x, v[2 * i]);
      v[2 * i + 1] = fmaf(scale, pair.y, v[2 * i + 1]);
    }
  }
};

/** A warp's ring of lines. Lanes read what other lanes copied: each waits for its own copies, then all for each other, and a stage is
 * filled again behind the next such meeting. */
template <class Config> struct SlideRing {
  SlideCopies<Config>& copies;
  uint8_t* const stages;
  const int numRows;  // of lines
  int useStage = 0, fillStage = 0;
  int fillRow = 0, fillFrame = 0;  // the next line to copy

  __device__ __forceinline__ SlideRing(SlideCopies<Config>& copies_, uint8_t* stages_, int numRows_)
      : copies(copies_), stages(stages_), numRows(numRows_) {}

  /** Starts copying the line that is `ahead` lines behind that of row `row` and frame f. */
  template <int kAhead> __device__ __forceinline__ void fill(int row, int f) {
    if constexpr (Config::kFrames > 0) {
      const int next = row + (f + kAhead) / Config::kFrames;
      if (next < numRows) copies.start((f + kAhead) % Config::kFrames, next, shared_address(stages) + fillStage);
    } else {
      if (fillRow < numRows) copies.start(fillFrame, fillRow, shared_address(stages) + fillStage);
      if (++fillFrame == copies.p.kernel[0]) {
        fillFrame = 0;
        ++fillRow;
      }
    }
    ptx::copy_commit();
    fillStage = fillStage == (Config::kStages - 1) * Config::kLineBytes ? 0 : fillStage + Config::kLineBytes;
  }
  template <int kLine = 0> __device__ __forceinline__ void begin() {
    if constexpr (kLine < Config::kStages - 1) {
      fill<kLine>(0, 0);
      begin<kLine + 1>();
    }
  }
  /** The line of row `row` and frame f, for which all before have been used. */
  __device__ __forceinline__ const uint8_t* next(int row, int f) {
    ptx::copy_wait<Config::kStages - 2>();
    __syncwarp();
    fill<Config::kStages - 1>(row, f);
    const uint8_t* line = stages + useStage;
    useStage = useStage == (Config::kStages - 1) * Config::kLineBytes ? 0 : useStage + Config::kLineBytes;
    return line;
  }
};

/** A strip from top to bottom. */
template <class Config> struct Slide {
  const MatmulMmaParams& p;
  SlideRing<Config>& ring;
  const int channel, at;  // the lane's first channel; where it finds its first column in a line
  SlideFilter<Config> filters[Config::kFrames > 0 ? Config::kFrames : 1];
  float sums[Config::kSums][Config::kPixels][2] = {};

  __device__ __forceinline__ Slide(const MatmulMmaParams& p_, SlideRing<Config>& ring_, int channel_, int at_)
      : p(p_), ring(ring_), channel(channel_), at(at_) {
#pragma unroll
    for (int f = 0; f < Config::kFrames; ++f) filters[f].load(p, f, channel);
  }

  /** The j-th line of a step in all frames of the filter. */
  template <int j> __device__ __forceinline__ void line(int step) {
    const int row = step * Config::kStep + j;
    if constexpr (Config::kFrames > 0) {
#pragma unroll
      for (int f = 0; f < Config::kFrames; ++f) slide_add<Config, j>(ring.next(row, f) + at, filters[f], sums);
    } else {
#pragma unroll 1
      for (int f = 0; f < p.kernel[0]; ++f) {
        filters[0].load(p, f, channel);
        slide_add<Config, j>(ring.next(row, f) + at, filters[0], sums);
      }
    }
  }

  /** A step makes room for a row of results and completes the oldest. */
  __device__ __forceinline__ void run(const SlideTail<Config>& tail, const SlideStrip& s, int64_t pixel) {
    const int lastStep = s.rows + Config::kSums - 2;
#pragma unroll 1
    for (int step = 0;; ++step) {
#pragma unroll
      for (int a = Config::kSums - 1; a >= 0; --a)
#pragma unroll
        for (int i = 0; i < 2 * Config::kPixels; ++i) sums[a][i / 2][i % 2] = a > 0 ? sums[a > 0 ? a - 1 : 0][i / 2][i % 2] : 0.0f;
      line<0>(step);
      if constexpr (Config::kLast > 0) line<1>(step);
      const int row = step - (Config::kSums - 1);
      if (row >= 0) tail.store(sums[Config::kSums - 1], pixel + static_cast<int64_t>(row) * p.out[2]);
      if (step == lastStep) return;
      if constexpr (Config::kLast == 0 && Config::kStep == 2) line<1>(step);
    }
  }
};

template <class Config> __device__ __forceinline__ void conv_slide(const ConvGroupsParams& g) {
  __shared__ __align__(128) uint8_t stages[kSlideWarps * Config::kStages * Config::kLineBytes];
  const MatmulMmaParams& p = g.conv;
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, pair = lane % Config::kPairs, set = lane / Config::kPairs;
  const uint32_t item = blockIdx.x * kSlideWarps + warp;
  if (item >= g.items) return;
  const SlideStrip strip = slide_strip<Config>(g, item);
  SlideCopies<Config> copies(p, strip);
  SlideRing<Config> ring(copies, stages + warp * Config::kStages * Config::kLineBytes, (strip.rows - 1) * Config::kStep + Config::kRows);
  ring.begin();
  const int channel = strip.channel + 2 * pair, first = set * Config::kPixels;
  const int group = Config::kGroup == 1 ? 2 * pair : 2 * pair / Config::kGroup * Config::kGroup;
  const int at = first * Config::kStep * Config::kColumnBytes + group * static_cast<int>(sizeof(typename Config::T));
  Slide<Config> slide(p, ring, channel < p.columns ? channel : 0, at);
  const SlideTail<Config> tail(p.epilogue, strip.pixel, channel, strip.columns - first);
  slide.run(tail, strip, strip.pixel + first);
}

}  // namespace vd::device

using namespace vd::device;

#define VD_SLIDE(name, blocks, ...) \
  VD_KERNEL_OVERLAPPED(name, ConvGroupsParams, 32 * kSlideWarps, blocks, conv_slide<SlideConfig<__VA_ARGS__>>)
/** Kernels of one filter: a lane's columns, blocks of a multiprocessor. */
#define VD_DEPTHWISE(type, name, filter, frames, rows, columns, step, pixels, blocks)                           \
  VD_SLIDE(conv_depthwise_##filter##s##step##_##name, blocks, type, 1, frames, rows, columns, step, pixels, 32) \
  VD_SLIDE(conv_depthwise_##filter##s##step##_c16_##name, blocks, type, 1, frames, rows, columns, step, pixels, 8)
#define VD_FOURS(type, name, step)                                           \
  VD_SLIDE(conv_fours_3x3s##step##_##name, 2, type, 4, 1, 3, 3, step, 8, 32) \
  VD_SLIDE(conv_fours_3x3s##step##_c16_##name, 2, type, 4, 1, 3, 3, step, 8, 8)
#define VD_SLIDE_ALL(type, name)                    \
  VD_DEPTHWISE(type, name, 3x3, 1, 3, 3, 1, 8, 4)   \
  VD_DEPTHWISE(type, name, 3x3, 1, 3, 3, 2, 8, 4)   \
  VD_DEPTHWISE(type, name, 5x5, 1, 5, 5, 1, 8, 2)   \
  VD_DEPTHWISE(type, name, 5x5, 1, 5, 5, 2, 4, 4)   \
  VD_DEPTHWISE(type, name, 3x3x3, 3, 3, 3, 1, 8, 3) \
  VD_DEPTHWISE(type, name, 3x3x3, 3, 3, 3, 2, 8, 3) \
  VD_DEPTHWISE(type, name, Tx3x3, 0, 3, 3, 1, 8, 3) \
  VD_DEPTHWISE(type, name, Tx3x3, 0, 3, 3, 2, 8, 3) \
  VD_DEPTHWISE(type, name, Tx5x5, 0, 5, 5, 1, 8, 2) \
  VD_DEPTHWISE(type, name, Tx5x5, 0, 5, 5, 2, 8, 2) \
  VD_FOURS(type, name, 1)                           \
  VD_FOURS(type, name, 2)

VD_SLIDE_ALL(float, f32)
VD_SLIDE_ALL(__half, f16)
VD_SLIDE_ALL(__nv_bfloat16, bf16)
