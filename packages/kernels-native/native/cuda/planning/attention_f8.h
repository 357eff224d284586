// Launches of attention over float8 codes, which attention_f8 and attention_f8_codes share, kernels included.
#pragma once
#include "../../generated/op_args.h"
#include "candidates.h"

namespace vd::cuda {

/** Operands and attributes of such an attention; yScale is absent where results are numbers. */
struct AttentionF8Operands {
  const Tensor& q;
  const Tensor& k;
  const Tensor& v;
  const Tensor& qScale;
  const Tensor& kScale;
  const Tensor& vScale;
  const float* yScale;
  const Tensor& y;
  AttentionAxis axis;
  int64_t heads;
  float scale;
};

/** Adds the kernels that can do the attention, the best guess first. */
void add_attention_f8(const AttentionF8Operands& operands, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
