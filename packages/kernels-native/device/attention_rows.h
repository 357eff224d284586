// Where the rows of attention lie, and which scores count: what its kernels on every architecture take. For host and device.
#pragma once
#include <cstdint>

#include "attention_sight.h"

namespace vd::device {

/** log2(e): the kernels take powers of two. */
inline constexpr float kLog2e = 1.4426950408889634f;
/** ln(2): of their logarithms. */
inline constexpr float kLn2 = 0.69314718055994531f;

/** Rows of q and y are `row` apart within a sequence; sequences start at batch·b + frame·f (elements) + head·D. */
struct AttentionView {
  const void* data;
  int64_t batch, frame, row;
};

struct AttentionMmaParams {
  static constexpr bool kLocal = false;
  AttentionView q, k, v, y;
  const void* mask;       // additive, or bytes
  const int32_t* cuQ;
  const int32_t* cuK;
  float* lse;
  int64_t maskBatch, maskHead, maskRow;  // elements
  int64_t lseRow, lseHead, lseFrame, lseBatch;  // elements
  int32_t maskType;
  int32_t heads, dim, frames;            // frames: sequences per batch
  int32_t seqQ, seqK, numSequences;      // numSequences of packed rows, else 0
  int32_t numQTiles, numHeadsFrames;
  int32_t causal, vector;
  float scale;            // of scores
};

/** For kernels that know windows; `causal` of the base is not used. */
struct AttentionLocalParams : AttentionMmaParams {
  static constexpr bool kLocal = true;
  AttentionSight sight;
};

}  // namespace vd::device
