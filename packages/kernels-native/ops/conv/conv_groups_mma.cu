// 3x3 convolutions on tensor cores whose results meet few channels of x: those in groups of 8, 16 or 32, and those of 8 or 16 channels in
// all. Tiles of 64 or more channels would multiply zeros for most of a tile.
//
// A block computes 8 rows (or 4) of 16 pixels in 64 channels. Its source pixels with their border lie in shared memory once for all taps,
// so far apart that eight pixels in a row meet all banks; a warp has half of the rows and 32 channels. A row of pixels of a source line is
// one operand for the three rows of results that the line counts for. Depth runs over the columns of the filter and the channels, so that
// nothing of one group meets another's weights: 8 channels take two columns at a time, zeros for the fourth. Weights lie in the order of
// the fragments (PackKind::convGroupsMma). Of groups, blocks that run together have the same channels, whose filters stay in L1; else
// blocks side by side have the same pixels. Symbols: conv_groups_mma<channels>_<dtype>, conv_thin<channels>[_h4]_<dtype>; h4: four rows.
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/mma.cuh"
#include "conv_groups_params.h"

namespace vd::device {

/** Element type, channels of a group or of x, whether all results meet the same ones, rows of a warp. */
template <class T_, int kGroup_, bool kDense_, int kRows_> struct GroupsMmaConfig {
  using T = T_;
  static constexpr int kGroup = kGroup_, kRows = kRows_;
  static constexpr bool kDense = kDense_;
  static constexpr int kGroups = kDense ? 1 : 32 / kGroup, kTiles = 4 / kGroups;  // a warp's groups, tiles of output channels of each
  static constexpr int kSteps = (3 * kGroup + 15) / 16;                           // products of depth 16 of a row of the filter
  static constexpr int kChunks = kDense ? kGroup / 8 : 8;                         // 16-byte pieces of a source pixel
  static constexpr int kPixelBytes = kChunks == 1 ? 16 : 16 * kChunks + 16, kSourceW = kGroupsMmaW + 2;
  static constexpr int kPixels = (2 * kRows + 2) * kSourceW;
};

inline constexpr int kMmaThreads = 128;

/** A block's first channel, frame (counted over batches) and first output pixel. */
struct GroupsMmaTile {
  int channel, frame, h, w;
};
template <class Config> __device__ __forceinline__ GroupsMmaTile groups_mma_tile(const ConvGroupsParams& g) {
  const MatmulMmaParams& p = g.conv;
  const uint32_t across = (p.out[2] + kGroupsMmaW - 1) / kGroupsMmaW, down = (p.out[1] + 2 * Config::kRows - 1) / (2 * Config::kRows);
  const uint32_t items = static_cast<uint32_t>(g.items), slabs = (p.columns + 63) / 64;
  const uint32_t slab = Config::kDense ? blockIdx.x % slabs : blockIdx.x / items;
  const uint32_t tile = Config::kDense ? blockIdx.x / slabs : blockIdx.x - slab * items, row = tile / across;
  return {static_cast<int>(slab) * 64, static_cast<int>(row / down), static_cast<int>(row % down) * 2 * Config::kRows,
          static_cast<int>(tile - row * across) * kGroupsMmaW};
}

/** Starts loading a tile's source pixels; zeros in the padding and behind the channels. */
template <class Config>
__device__ __forceinline__ void groups_mma_load(const MatmulMmaParams& p, const GroupsMmaTile& tile, uint32_t shared) {
  using T = typename Config::T;
  constexpr int kPass = kMmaThreads / Config::kChunks;
  const int chunk = threadIdx.x % Config::kChunks, channel = (Config::kDense ? 0 : tile.channel) + chunk * 8;
  const T* frame = static_cast<const T*>(p.x) + static_cast<int64_t>(tile.frame) * p.source[1] * p.source[2] * p.pitch + channel;
#pragma unroll
  for (int i = 0; i < (Config::kPixels + kPass - 1) / kPass; ++i) {
    const int pixel = threadIdx.x / Config::kChunks + i * kPass;
    if (pixel >= Config::kPixels) continue;
    const int h = tile.h - p.padding[1] + pixel / Config::kSourceW, w = tile.w - p.padding[2] + pixel % Config::kSourceW;
    const bool inside = h >= 0 && w >= 0 && h < p.source[1] && w < p.source[2] && channel < p.channels;
    ptx::copy16(shared + pixel * Config::kPixelBytes + chunk * 16,
                inside ? frame + (static_cast<int64_t>(h) * p.source[2] + w) * p.pitch : static_cast<const T*>(p.x), inside);
  }
}

/** Where a lane finds a product's operand, counted from the chunk of its group: lanes of the upper half have its upper eight of depth. -1:
 * zeros. */
template <class Config, int step> __device__ __forceinline__ int groups_mma_offset(bool upper) {
  constexpr int kLow = step * 16, kHigh = kLow + 8;
  constexpr int low = kLow / Config::kGroup * Config::kPixelBytes + kLow % Config::kGroup * 2;
  constexpr int high = kHigh / Config::kGroup < 3 ? kHigh / Config::kGroup * Config::kPixelBytes + kHigh % Config::kGroup * 2 : -1;
  return upper ? high : low;
}

/** The weights of a step: of each row of the filter and each tile of output channels. */
template <class Config> struct GroupsMmaWeights {
  uint32_t b[3][Config::kTiles][2];

  __device__ __forceinline__ void load(const uint2* weights, int step) {
#pragma unroll
    for (int t = 0; t < Config::kTiles; ++t)
#pragma unroll
      for (int dy = 0; dy < 3; ++dy) {
        const uint2 pair = __ldg(weights + ((t * Config::kSteps + step) * 3 + dy) * 32);
        b[dy][t][0] = pair.x;
        b[dy][t][1] = pair.y;
      }
  }
};

/** Adds a step's products to all rows of a warp. rows: the lane's pixel of the warp's first source line, at its group; zeros: of shared
 * memory. */
template <class Config, int step>
__device__ __forceinline__ void groups_mma_step(float (&acc)[Config::kRows][4][4], int group, const GroupsMmaWeights<Config>& weights,
                                                uint32_t rows, uint32_t zeros) {
  const int offset = groups_mma_offset<Config, step>(threadIdx.x & 16);
#pragma unroll
  for (int r = 0; r < Config::kRows + 2; ++r) {
    uint32_t a[4];
    ptx::ldmatrix_x4(a, offset < 0 ? zeros : rows + r * Config::kSourceW * Config::kPixelBytes + offset);
#pragma unroll
    for (int dy = 0; dy < 3; ++dy) {
      const int m = r - dy;
      if (m < 0 || m >= Config::kRows) continue;
#pragma unroll
      for (int t = 0; t < Config::kTiles; ++t) ptx::mma_16816<typename Config::T>(acc[m][group * Config::kTiles + t], a, weights.b[dy][t]);
    }
  }
}
/** All steps of a group, whose first weights are there. */
template <class Config, int step = 0>
__device__ __forceinline__ void groups_mma_steps(float (&acc)[Config::kRows][4][4], int group, const GroupsMmaWeights<Config>& first,
                                                 const uint2* weights, uint32_t rows, uint32_t zeros) {
  groups_mma_step<Config, step>(acc, group, first, rows, zeros);
  if constexpr (step + 1 < Config::kSteps) {
    GroupsMmaWeights<Config> next;
    next.load(weights, step + 1);
    groups_mma_steps<Config, step + 1>(acc, group, next, weights, rows, zeros);
  }
}

/** A warp's results. The lanes of a quad exchange theirs, so that each has eight channels of a pixel. */
template <class Config>
__device__ __forceinline__ void groups_mma_store(const MatmulMmaParams& p, const float (&acc)[Config::kRows][4][4],
                                                 const GroupsMmaTile& tile, int row, int channel) {
  const int lane = threadIdx.x & 31, col = channel + (lane & 3) * 8;
#pragma unroll
  for (int m = 0; m < Config::kRows; ++m) {
    const int h = tile.h + row + m;
    if (h >= p.out[1]) return;  // the same for all lanes
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float2 pairs[4];
#pragma unroll
      for (int t = 0; t < 4; ++t) pairs[t] = make_float2(acc[m][t][2 * half], acc[m][t][2 * half + 1]);
      transpose_quad(pairs, lane);
      const int w = tile.w + (lane >> 2) + 8 * half;
      if (w >= p.out[2]) continue;
      float v[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = i % 2 ? pairs[i / 2].y : pairs[i / 2].x;
      epilogue8_typed<typename Config::T, true>(p.epilogue, v, (static_cast<int64_t>(tile.frame) * p.out[1] + h) * p.out[2] + w, col,
                                                false);
    }
  }
}

template <class Config> __device__ __forceinline__ void conv_groups_mma(const ConvGroupsParams& g) {
  __shared__ __align__(128) uint8_t source[Config::kPixels * Config::kPixelBytes];
  __shared__ __align__(16) uint32_t zeros[4];
  const MatmulMmaParams& p = g.conv;
  const GroupsMmaTile tile = groups_mma_tile<Config>(g);
  groups_mma_load<Config>(p, tile, shared_address(source));
  ptx::copy_commit();
  if (threadIdx.x < 4) zeros[threadIdx.x] = 0;
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, row = warp / 2 * Config::kRows, part = warp % 2 * 32,
            channel = tile.channel + part;
  const bool idle = channel >= p.columns || tile.h + row >= p.out[1];
  const uint2* weights = static_cast<const uint2*>(p.weights) + static_cast<int64_t>(channel / 8) * Config::kSteps * 96 + lane;
  GroupsMmaWeights<Config> first;
  if (!idle) first.load(weights, 0);
  ptx::copy_wait<0>();
  __syncthreads();
  if (idle) return;
  float acc[Config::kRows][4][4] = {};
  const int pixel = row * Config::kSourceW + (lane & 15);
  const uint32_t rows = shared_address(source) + pixel * Config::kPixelBytes + (Config::kDense ? 0 : part * 2);
#pragma unroll
  for (int group = 0; group < Config::kGroups; ++group) {
    if (group > 0) {
      if (channel + group * Config::kGroup >= p.columns) break;
      weights += Config::kTiles * Config::kSteps * 96;
      first.load(weights, 0);
    }
    groups_mma_steps<Config>(acc, group, first, weights, rows + group * Config::kGroup * 2, shared_address(zeros));
  }
  groups_mma_store<Config>(p, acc, tile, row, channel);
}

}  // namespace vd::device

using namespace vd::device;

#define VD_GROUPS_MMA(symbol, type, channels) \
  VD_KERNEL_OVERLAPPED(symbol, ConvGroupsParams, kMmaThreads, 4, conv_groups_mma<GroupsMmaConfig<type, channels, false, 4>>)
#define VD_THIN(symbol, type, channels, rows) \
  VD_KERNEL(symbol, ConvGroupsParams, kMmaThreads, 4, conv_groups_mma<GroupsMmaConfig<type, channels, true, rows>>)
#define VD_GROUPS_MMA_ALL(type, name)               \
  VD_GROUPS_MMA(conv_groups_mma8_##name, type, 8)   \
  VD_GROUPS_MMA(conv_groups_mma16_##name, type, 16) \
  VD_GROUPS_MMA(conv_groups_mma32_##name, type, 32) \
  VD_THIN(conv_thin8_##name, type, 8, 4)            \
  VD_THIN(conv_thin8_h4_##name, type, 8, 2)         \
  VD_THIN(conv_thin16_##name, type, 16, 4)          \
  VD_THIN(conv_thin16_h4_##name, type, 16, 2)

VD_GROUPS_MMA_ALL(__half, f16)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_GROUPS_MMA_ALL(__nv_bfloat16, bf16)
#endif
