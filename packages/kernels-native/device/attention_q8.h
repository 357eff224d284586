// Parameters of the kernels for attention over 8-bit codes, shared by host and device.
#pragma once
#include <cstdint>

#include "tensor_map.h"

namespace vd::device {

/** Keys of a block on Hopper; transposed values are padded to a multiple of it. */
inline constexpr int kQ8Keys = 128;
/** Queries of a block on Hopper: 64 to a warpgroup, of which integers, whose sums take twice the registers, leave room for one less. */
constexpr int q8_queries(bool isInt8) { return isInt8 ? 128 : 192; }
/** How much smaller float8 codes of queries and keys are on Hopper than they could be: 448 / 16 = 28, so that sums of 64 products of two
 *  are below float16's 65,504. They have the bits of the largest codes but for the exponent, and for those 1,792 times below the largest.
 */
inline constexpr float kQ8ScoreShrink = 16.0f;

/** On Hopper a cluster holds a head's rows in registers while it looks for their largest magnitude: blocks of 1024 threads, each with
 *  up to kQ8HeldRuns runs of eight channels of different rows. */
inline constexpr int kQ8HeldThreads = 1024, kQ8HeldRuns = 9, kQ8HeldRows = kQ8HeldThreads / 8 * kQ8HeldRuns, kQ8MostHeldBlocks = 8;

/** How codes lie in the workspace. */
enum class CodeOrder : int32_t {
  rows = 0,        // [frames, rows, heads · dim]
  transposed = 1,  // [frames, heads, dim, rows padded], each 16 rows in the order in which probabilities lie in registers
};

/** q, k or v, and where its codes and scales go. */
struct AttentionCodesSide {
  const void* x;
  uint8_t* codes;
  float* scales;        // [frames, heads]
  int64_t pitch;
  int32_t rows, paddedRows, frames;
  float shrink;         // what the scale is multiplied with: codes are smaller by it
  int32_t isInt8;
  int32_t keepsNan;     // a NaN makes the scale of its head NaN: of keys, which all results of the head depend on
  CodeOrder order;
};

struct AttentionCodesParams {
  AttentionCodesSide sides[3];
  int32_t heads, dim;
  int32_t xType;
  int32_t vector;       // eight channels of all sides may be loaded at once
};

/** Codes of values of heads of 64 channels, which change their order. */
struct AttentionValuesParams {
  const uint8_t* v;
  uint8_t* codes;       // CodeOrder::transposed
  int64_t pitch;
  int32_t rows, paddedRows, heads;
};

struct AttentionQ8Params {
  TensorMap q, k, v;      // codes, on Hopper only
  const uint8_t* qCodes;  // the same by address, elsewhere
  const uint8_t* kCodes;
  const void* vRows;      // codes, or v itself where it is not rounded
  const float* qScales;
  const float* kScales;
  const float* vScales;   // null where v is not rounded
  const float* yScale;    // what codes of y stand for multiples of; null where y is numbers
  void* y;
  int64_t qPitch, kPitch, vPitch, yPitch;  // by address
  int32_t heads, dim, seqQ, seqK;
  int32_t frames;         // F of q
  int32_t keyFrames;      // F of k: 1 or frames
  int32_t numQTiles;      // per head and frame
  int32_t numTiles;
  int32_t overTime;       // plain kernel only: a sequence is a token's frames, seqQ and seqK are tokens of a frame
  int32_t scaleStride;    // 1: each head of each frame has a scale; 0: all have one
  int32_t isInt8;         // q and k
  int32_t xType;          // of v where it is not rounded, and of y, which may be codes
  float scale;            // of scores, times log2(e)
};

}  // namespace vd::device
