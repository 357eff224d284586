// Parameters of the kernels that normalise tokens over their channels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** An operand [1|B, 1|F, 1|S, C] that modulates tokens, or none. */
struct TokenModulation {
  const void* data;
  int64_t clipStride, frameStride, tokenStride;  // elements; 0 where broadcast
  int32_t type;
};

/** y = (n · weight + bias) · (1 + scale) + shift of the normalised token n; an absent operand is a null pointer. */
struct TokenNormParams {
  const void* x;
  const void* weight;
  const void* bias;
  void* y;
  const float* yScale;  // of 8-bit results, or null where each row has a scale of its own
  float* scales;  // of 8-bit results, one for each row, or null
  TokenModulation scale, shift;
  int64_t pitch, yPitch, scalesPitch;
  uint32_t rows, frames, tokens;  // rows: of all clips and frames
  int32_t channels, weightType, biasType, isInt8;
  float eps;
};

/** How a row is held: `lanes` threads own it, `chunks` vectors of eight channels each. */
struct TokenNormShape {
  int lanes, chunks;
};
/** Of a block; of blocks for few rows a part, where warps or less own a row. */
inline constexpr int kTokenNormThreads = 256;
/** The shapes that kernels are compiled for, the narrowest first (VD_TOKEN_NORM in token_norm.cuh). */
inline constexpr TokenNormShape kTokenNormShapes[] = {{8, 5}, {16, 5}, {32, 5}, {32, 6}, {32, 8}, {32, 12}, {256, 3}};
/** Blocks of a multiprocessor that stay for many rows, and chunks of the widest kernel for them (VD_TOKEN_NORM_MANY in
 *  token_norm_many.cuh). */
inline constexpr int kTokenNormManyBlocks = 2, kTokenNormManyChunks = 8;
/** Rows up to which weights are asked for before the sums are known: later ones find them in the cache. */
inline constexpr uint32_t kTokenNormFewRows = 4096;

}  // namespace vd::device
