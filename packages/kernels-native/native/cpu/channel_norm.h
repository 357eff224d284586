// The fast path of norms of channel groups, which group_norm and group_norm_q8 share.
#pragma once
#include <memory>

#include "../generated/op_args.h"
#include "norm_statistics.h"

namespace vd::cpu {

/** Operands of such a norm. y is float32, or codes with the scale yScale [1,1,1,1]. */
struct ChannelNormRow {
  GroupNormArgs norm;
  Tensor yScale;
};

/** The row ready to run, or null where an activation is not float32. A y of float32 may be x. name: of the fast path. */
std::unique_ptr<PreparedRow> prepare_channel_norm(const ChannelNormRow& row, const char* name, Isa isa);

}  // namespace vd::cpu
