// group_norm: y = act((x - mean) · rstd · weight + bias) per group of channels of [x | x2].
//
// Plan: one launch where a cluster holds a row (device/group_norm_held.cuh). Else statistics in two launches, the second also making each
// channel's scale and shift (device/norm_stats.cuh), then one pass (device/group_norm_apply.cuh). What lost: one persistent launch,
// statistics of a frame and soon after them its apply: most of the second read came from memory all the same, and blocks waited for each
// other. Figures of every version: docs/kernels/group_norm.md. Symbols: group_norm_held_<dtype>, group_norm_partial_<dtype>[_scalar],
// group_norm_finish, group_norm_apply_<dtype>[_scalar].
#include "../../device/group_norm_apply.cuh"
#include "../../device/group_norm_held.cuh"

using namespace vd::device;

VD_NORM_STATISTICS(group_norm)
VD_NORM_APPLY(group_norm, false)
VD_NORM_HELD(group_norm, false)
