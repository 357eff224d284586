// Parameters of the kernels of attention over float8 codes, shared by host and device.
#pragma once
#include "attention_rows.h"

namespace vd::device {

/** Attention over frames of float8 codes. */
struct AttentionF8Params {
  AttentionMmaParams rows;
  const float* qScale;
  const float* kScale;
  const float* vScale;
  const float* yScale;  // null where y is numbers
};

}  // namespace vd::device
