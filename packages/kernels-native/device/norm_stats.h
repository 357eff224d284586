// Parameters of the kernels of group statistics, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** One tensor, or two side by side in channels, seen as [frames, pixels, channels]. */
struct NormSource {
  const void* x;
  const void* x2;
  int64_t pitch, pitch2;
  int32_t channels, channels2;
  int32_t type;            // of both
  int32_t pixels;          // of one frame
  int32_t frames;          // of all batches
};

/** Partial statistics: float2 (mean, sum of squared deviations) at [frame, group, chunk]. */
struct NormPartialParams {
  NormSource source;
  void* partial;
  int32_t groups, groupChannels;
  int32_t chunkPixels, numChunks;  // of one frame
  int32_t lanes;                   // pixels that a block reads at once
};

/** stats[row, group] = (mean, 1/sqrt(variance + eps)) over framesPerRow frames, and (or) per channel the affine map
 *  y = x · scale + shift of the whole normalisation. */
struct NormFinishParams {
  const void* partial;
  const float* given;  // statistics computed before, or null
  float* stats;        // or null
  int64_t statsPitch;  // elements from one group's pair to the next, of either
  void* affine;        // float2 [rows, C] (scale, shift), or null
  float* shiftRest;    // [rows, C] what rounding left of shift, for float32 results, or null
  const void* weight;
  const void* bias;
  int32_t weightType, biasType;
  int32_t groups, numChunks, chunkPixels, pixels, groupChannels, framesPerRow;
  float eps;
};

/** stats[row, group] from (mean, variance) of each channel of each frame of one tensor, or two side by side. */
struct NormJoinParams {
  const float* moments;
  const float* moments2;  // or null
  int64_t pitch, pitch2;  // elements from one channel's pair to the next
  float* stats;
  int64_t statsPitch;
  int32_t channels, channels2;
  int32_t groups, groupChannels, framesPerRow;
  float eps;
};

/** Threads of a block that holds a part of a row, most blocks of a row, and most groups of a set: 256 channels by 4. */
inline constexpr int kNormHeldThreads = 256, kMostHeldBlocks = 8, kMostHeldGroups = 64;
/** Vectors of eight channels in 16 bits that a thread holds, at most, and blocks that a multiprocessor has registers for. */
struct NormHeldShape {
  int vectors, blocks;
};
inline constexpr NormHeldShape kNormHeldFew = {4, 3}, kNormHeldMany = {12, 2};
/** The same of any type: the more bytes an element has, the fewer vectors. */
constexpr int held_vectors(const NormHeldShape& shape, int elementBytes) { return shape.vectors * 2 / elementBytes; }
/** The whole norm of rows that a cluster of blocks holds in registers. */
struct NormHeldParams {
  NormSource source;
  const void* weight;
  const void* bias;
  const float* yScale;  // of 8-bit results, or null
  void* y;
  int64_t yPitch;
  int32_t weightType, biasType;
  int32_t groupChannels;
  int32_t setChannels;  // of a block: whole groups, whole vectors of eight
  int32_t rowPixels;    // of all frames that have statistics in common
  int32_t blockPixels;
  int32_t act, isInt8;
  float eps;
  int32_t constantWeights;  // nothing on the device writes weights and biases while the kernel may run: they are loaded early
};

struct NormApplyParams {
  NormSource source;
  const void* affine;
  const float* shiftRest;
  const float* yScale;  // of 8-bit results, or null
  void* y;
  int64_t yPitch;
  int32_t framesPerRow, act, isInt8;
  int32_t chunkPixels, numChunks, lanes;
};

}  // namespace vd::device
