// Parameters of the kernels of attention's gradients, shared by host and device code.
#pragma once
#include "../../device/attention_rows.h"

namespace vd::device {

/** `y` and `lse` of the base are operands here; a gradient without data is not computed. */
struct AttentionBackwardParams : AttentionLocalParams {
  AttentionView dy, dq, dk, dv;
  float* delta;                                       // sums of dy · y per row and head
  int64_t deltaRow, deltaHead, deltaFrame, deltaBatch;  // elements
  int32_t keyFrames;     // sequences of keys per batch: as many as of queries, or 1 for all of them
  int32_t numKeyTiles;   // per head and sequence of keys
  int32_t dqVector, dkVector, dvVector;  // pairs may be stored at once
};

}  // namespace vd::device
