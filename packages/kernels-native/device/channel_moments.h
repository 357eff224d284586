// Parameters of the kernels that find the moments of a convolution's results, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** The frames of y, in chunks of pixels; the last one of a frame may have fewer. */
struct ChannelMomentsParams {
  const void* y;           // [frames, pixels, channels]
  int64_t yPitch;
  void* partial;           // float2 (mean, sum of squared deviations) [frames, chunks, channels]
  float* moments;          // (mean, variance) [frames, channels]
  int64_t momentsPitch;    // elements from one channel's pair to the next
  int32_t channels, pixels;
  int32_t chunkPixels, numChunks;  // of a frame
};

/** Pixels of a chunk: those of a tile of the kernels that find moments themselves. */
inline constexpr int kMomentsChunk = 128;
/** Channels, and chunks at a time, of a block that merges. */
inline constexpr int kMomentsMergeChannels = 16, kMomentsMergeRows = 32;

}  // namespace vd::device
