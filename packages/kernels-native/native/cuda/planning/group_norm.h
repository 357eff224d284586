// Launches of norms of channel groups, which group_norm and group_norm_q8 share.
#pragma once
#include "../../generated/op_args.h"
#include "candidates.h"

namespace vd::cuda {

/** Operands and attributes of such a norm; x2, stats and yScale may be absent. */
struct GroupNormOperands {
  const Tensor& x;
  const Tensor& x2;
  const Tensor& weight;
  const Tensor& bias;
  const Tensor& stats;
  const Tensor& yScale;  // of results in 8 bits
  const Tensor& y;
  int64_t groups;
  float eps;
  Activation act;
  bool joinFrames;
};

/** Adds the ways that suit the operands' alignment and size. symbol: what the kernels' names begin with. */
void add_group_norm(const GroupNormOperands& operands, const std::string& symbol, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
