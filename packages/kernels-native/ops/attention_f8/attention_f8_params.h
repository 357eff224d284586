// Parameters of the kernels of attention_f8, shared by host and device.
#pragma once
#include "../../device/attention_rows.h"

namespace vd::device {

/** Attention over frames of float8 codes. */
struct AttentionF8Params {
  AttentionMmaParams rows;
  const float* qScale;
  const float* kScale;
  const float* vScale;
};

}  // namespace vd::device
