// Parameters of the kernels of quantize, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct QuantizeParams {
  const void* x;
  const float* scale;   // known scales, or null
  float* scales;        // where they go, or null
  float* maxima;        // of parts of the tensor, where it has one scale that is not known
  uint8_t* y;
  int64_t pixels, xPitch, yPitch;
  int64_t scalePitch, scalesPitch;  // from one token's scales to the next; 0 when all share one
  int32_t channels;
  int32_t width;        // channels that share a scale
  int32_t groups;       // scales of a token
  int32_t numMaxima;
  int32_t xType;
  int32_t isInt8;
};

/** Most parts of a tensor that look for their largest magnitude. */
inline constexpr int kMostMaxima = 1024;
/** Threads of a block, and most blocks, that hold a tensor. */
inline constexpr int kHeldThreads = 512, kMostHeldBlocks = 8;
/** Channels of a block with a scale of its own. */
inline constexpr int kQuantizeBlock = 128;

}  // namespace vd::device
