// 3x3 convolutions in groups of 8, 16 or 32 channels on tensor cores: tiles of 64 or more channels would multiply zeros for most of a tile.
//
// A block computes 8 rows of 16 pixels in 64 channels. Its source pixels with their border lie in shared memory once for all taps (144
// bytes a pixel, so that eight pixels in a row meet all banks); a warp has half of the rows and 32 channels. A row of pixels of a source
// line is one operand for the three rows of results that the line counts for. Depth runs over the columns of the filter and the channels of
// a group, so that nothing of one group meets another's weights: groups of 8 channels take two columns at a time, zeros for the fourth.
// Weights lie in the order of the fragments (PackKind::convGroupsMma); blocks that run together have the same channels, whose filters stay
// in L1. Symbols: conv_groups_mma<channels>_<dtype>.
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/mma.cuh"
#include "conv_groups_params.h"

namespace vd::device {

/** Element type, channels of a group. */
template <class T_, int kGroup_> struct GroupsMmaConfig {
  using T = T_;
  static constexpr int kGroup = kGroup_, kTiles = kGroup / 8,
                       kGroups = 32 / kGroup;  // tiles of output channels of a group, a warp's groups
  static constexpr int kSteps = (3 * kGroup + 15) / 16;  // products of depth 16 of a row of the filter
};

inline constexpr int kMmaSourceW = kGroupsMmaW + 2, kMmaPixels = (kGroupsMmaH + 2) * kMmaSourceW, kMmaPixelBytes = 144;
inline constexpr int kMmaRows = kGroupsMmaH / 2, kMmaThreads = 128;  // rows of results of a warp

/** A block's first channel, frame (counted over batches) and first output pixel. */
struct GroupsMmaTile {
  int channel, frame, h, w;
};
__device__ __forceinline__ GroupsMmaTile groups_mma_tile(const ConvGroupsParams& g) {
  const MatmulMmaParams& p = g.conv;
  const uint32_t across = (p.out[2] + kGroupsMmaW - 1) / kGroupsMmaW, down = (p.out[1] + kGroupsMmaH - 1) / kGroupsMmaH;
  const uint32_t items = static_cast<uint32_t>(g.items), slab = blockIdx.x / items, tile = blockIdx.x - slab * items, row = tile / across;
  return {static_cast<int>(slab) * 64, static_cast<int>(row / down), static_cast<int>(row % down) * kGroupsMmaH,
          static_cast<int>(tile - row * across) * kGroupsMmaW};
}

/** Starts loading a tile's source pixels; zeros in the padding and behind the channels. */
template <class T> __device__ __forceinline__ void groups_mma_load(const MatmulMmaParams& p, const GroupsMmaTile& tile, uint32_t shared) {
  const int chunk = threadIdx.x & 7, channel = tile.channel + chunk * 8;
  const T* frame = static_cast<const T*>(p.x) + static_cast<int64_t>(tile.frame) * p.source[1] * p.source[2] * p.pitch + channel;
#pragma unroll
  for (int i = 0; i < (kMmaPixels * 8 + kMmaThreads - 1) / kMmaThreads; ++i) {
    const int pixel = threadIdx.x / 8 + i * (kMmaThreads / 8);
    if (pixel >= kMmaPixels) continue;
    const int h = tile.h - p.padding[1] + pixel / kMmaSourceW, w = tile.w - p.padding[2] + pixel % kMmaSourceW;
    const bool inside = h >= 0 && w >= 0 && h < p.source[1] && w < p.source[2] && channel < p.columns;
    ptx::copy16(shared + pixel * kMmaPixelBytes + chunk * 16,
                inside ? frame + (static_cast<int64_t>(h) * p.source[2] + w) * p.pitch : static_cast<const T*>(p.x), inside);
  }
}

/** Where a lane finds a product's operand, counted from the chunk of its group: lanes of the upper half have its upper eight of depth. -1:
 * zeros. */
template <class Config, int step> __device__ __forceinline__ int groups_mma_offset(bool upper) {
  constexpr int kLow = step * 16, kHigh = kLow + 8;
  constexpr int low = kLow / Config::kGroup * kMmaPixelBytes + kLow % Config::kGroup * 2;
  constexpr int high = kHigh / Config::kGroup < 3 ? kHigh / Config::kGroup * kMmaPixelBytes + kHigh % Config::kGroup * 2 : -1;
  return upper ? high : low;
}

/** Adds a step's products to all rows of a warp. rows: the lane's pixel of the warp's first source line, at its group; zeros: of shared
 * memory. */
template <class Config, int step>
__device__ __forceinline__ void groups_mma_step(float (&acc)[kMmaRows][4][4], int group, const uint2* weights, uint32_t rows,
                                                uint32_t zeros) {
  uint32_t b[3][Config::kTiles][2];
#pragma unroll
  for (int t = 0; t < Config::kTiles; ++t)
#pragma unroll
    for (int dy = 0; dy < 3; ++dy) {
      const uint2 pair = __ldg(weights + ((t * Config::kSteps + step) * 3 + dy) * 32);
      b[dy][t][0] = pair.x;
      b[dy][t][1] = pair.y;
    }
  const int offset = groups_mma_offset<Config, step>(threadIdx.x & 16);
#pragma unroll
  for (int r = 0; r < kMmaRows + 2; ++r) {
    uint32_t a[4];
    ptx::ldmatrix_x4(a, offset < 0 ? zeros : rows + r * kMmaSourceW * kMmaPixelBytes + offset);
#pragma unroll
    for (int dy = 0; dy < 3; ++dy) {
      const int m = r - dy;
      if (m < 0 || m >= kMmaRows) continue;
#pragma unroll
      for (int t = 0; t < Config::kTiles; ++t) ptx::mma_16816<typename Config::T>(acc[m][group * Config::kTiles + t], a, b[dy][t]);
    }
  }
}
template <class Config, int step = 0>
__device__ __forceinline__ void groups_mma_steps(float (&acc)[kMmaRows][4][4], int group, const uint2* weights, uint32_t rows,
                                                 uint32_t zeros) {
  if constexpr (step < Config::kSteps) {
    groups_mma_step<Config, step>(acc, group, weights, rows, zeros);
    groups_mma_steps<Config, step + 1>(acc, group, weights, rows, zeros);
  }
}

/** A warp's results. The lanes of a quad exchange theirs, so that each has eight channels of a pixel. */
template <class T>
__device__ __forceinline__ void groups_mma_store(const MatmulMmaParams& p, const float (&acc)[kMmaRows][4][4], const GroupsMmaTile& tile,
                                                 int row, int channel) {
  const int lane = threadIdx.x & 31, col = channel + (lane & 3) * 8;
#pragma unroll
  for (int m = 0; m < kMmaRows; ++m) {
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
      epilogue8_typed<T, true>(p.epilogue, v, (static_cast<int64_t>(tile.frame) * p.out[1] + h) * p.out[2] + w, col, false);
    }
  }
}

template <class Config> __device__ __forceinline__ void conv_groups_mma(const ConvGroupsParams& g) {
  using T = typename Config::T;
  __shared__ __align__(128) uint8_t source[kMmaPixels * kMmaPixelBytes];
  __shared__ __align__(16) uint32_t zeros[4];
  const MatmulMmaParams& p = g.conv;
  const GroupsMmaTile tile = groups_mma_tile(g);
  groups_mma_load<T>(p, tile, shared_address(source));
  ptx::copy_commit();
  if (threadIdx.x < 4) zeros[threadIdx.x] = 0;
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, row = warp / 2 * kMmaRows, part = warp % 2 * 32,
            channel = tile.channel + part;
  ptx::copy_wait<0>();
  __syncthreads();
  if (channel >= p.columns || tile.h + row >= p.out[1]) return;
  float acc[kMmaRows][4][4] = {};
  const uint32_t rows = shared_address(source) + (row * kMmaSourceW + (lane & 15)) * kMmaPixelBytes + part * 2;
#pragma unroll
  for (int group = 0; group < Config::kGroups; ++group) {
    const int first = channel + group * Config::kGroup;
    if (first >= p.columns) break;
    const uint2* weights = static_cast<const uint2*>(p.weights) + static_cast<int64_t>(first / 8) * Config::kSteps * 96 + lane;
    groups_mma_steps<Config>(acc, group, weights, rows + group * Config::kGroup * 2, shared_address(zeros));
  }
  groups_mma_store<T>(p, acc, tile, row, channel);
}

}  // namespace vd::device

using namespace vd::device;

#define VD_GROUPS_MMA(type, name)                                                                                              \
  VD_KERNEL_OVERLAPPED(conv_groups_mma8_##name, ConvGroupsParams, kMmaThreads, 4, conv_groups_mma<GroupsMmaConfig<type, 8>>)   \
  VD_KERNEL_OVERLAPPED(conv_groups_mma16_##name, ConvGroupsParams, kMmaThreads, 4, conv_groups_mma<GroupsMmaConfig<type, 16>>) \
  VD_KERNEL_OVERLAPPED(conv_groups_mma32_##name, ConvGroupsParams, kMmaThreads, 3, conv_groups_mma<GroupsMmaConfig<type, 32>>)

VD_GROUPS_MMA(__half, f16)
VD_KERNEL_OVERLAPPED(conv_groups_mma32_b4_f16, ConvGroupsParams, kMmaThreads, 4, conv_groups_mma<GroupsMmaConfig<__half, 32>>)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_GROUPS_MMA(__nv_bfloat16, bf16)
#endif
