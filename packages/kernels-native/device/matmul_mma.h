// Parameters of the portable matrix cores behind conv and linear: mma.sync tiles and plain float32 tiles.
#pragma once
#include <cstdint>

#include "epilogue.h"
#include "matmul_scales.h"

namespace vd::device {

/** D[pixel, n] = sum over k of A[pixel, k] · B[n, k]; k runs over taps of C' channels (conv), or over x's then x2's
 *  channels (linear). B is [N, K] with a gated activation's value and gate rows found by arithmetic. */
struct MatmulMmaParams {
  const void* x;
  const void* x2;
  const void* weights;
  Epilogue epilogue;
  int64_t pitch, pitch2;   // elements between pixels
  int32_t source[3];       // F, H, W of x
  int32_t out[3];          // F, H, W of y
  int32_t kernel[3], stride[3], padding[3];
  int32_t upsample;        // 1: source pixel = (row / 2, column / 2) of the padded, doubled map
  int32_t rows, columns;   // of the product
  int32_t channels;        // of x
  int32_t tapChannels;     // C': channels of one tap in B
  int32_t depth;           // K
  int32_t gated;           // geglu or swiglu
  // What conv_clip's kernels know besides.
  const void* past;        // [B, pastFrames, H, W, C]: frames in front of x, whose numbers are below 0
  int64_t pastPitch;
  int32_t pastFrames;
  int32_t replicate;       // 1: frames outside are the first or the last again
  int32_t phaseStep;       // 2: results are every second row and column of y, from these on; 1: all
  int32_t phaseRow, phaseColumn;
};

/** The same of 8-bit operands. */
struct ScaledMmaParams {
  MatmulMmaParams matmul;
  MatmulScales scales;
};

/** Most output channels, channels, and taps times channels of the kernel for convolutions of few channels to few. */
inline constexpr int kFewColumns = 4, kFewChannels = 8, kFewDepth = 256;

/** Most tokens of the kernel for linears of few. */
inline constexpr int kVectorRows = 8;

/** Most output channels of the kernel for 3x3 convolutions of many channels to few (conv_narrow.cuh), and its tile. */
inline constexpr int kNarrowColumns = 8, kNarrowTileH = 8, kNarrowTileW = 32, kNarrowThreads = 32 * kNarrowTileH;

/** Most channels of the kernel for 3x3 convolutions of few channels to many (conv_shallow.cuh), and its tile. */
inline constexpr int kShallowChannels = 4, kShallowColumns = 64, kShallowTileH = 8, kShallowTileW = 32;
inline constexpr int kShallowThreads = 32 * kShallowTileH;

}  // namespace vd::device
