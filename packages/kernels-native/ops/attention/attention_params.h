// Parameters of the attention kernels, shared by host and device.
#pragma once
#include <cstdint>

#include "../../device/tensor_map.h"

namespace vd::device {

/** log2(e): the kernels take powers of two. */
inline constexpr float kLog2e = 1.4426950408889634f;
/** ln(2): of their logarithms. */
inline constexpr float kLn2 = 0.69314718055994531f;

/** Tensor maps are [B·F, S, heads·D], copied in boxes of 64 channels. */
struct AttentionSm90Params {
  TensorMap q, k, v;
  void* y;
  float* lse;           // may be null
  int64_t yPitch;
  int32_t heads, seqQ, seqK;
  int32_t frames;       // F of q
  int32_t keyFrames;    // F of k: 1 or frames
  int32_t numQTiles;    // per head and frame
  int32_t numTiles;
  float scale;          // of scores, times log2(e)
};

/** Rows of q and y are `row` apart within a sequence; sequences start at batch·b + frame·f (elements) + head·D. */
struct AttentionView {
  const void* data;
  int64_t batch, frame, row;
};

struct AttentionMmaParams {
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

}  // namespace vd::device
