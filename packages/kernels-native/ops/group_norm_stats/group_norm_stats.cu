// group_norm_stats: mean and 1/sqrt(variance + eps) per group. Plan: device/norm_stats.cuh.
// Symbols: group_norm_stats_partial_<dtype>[_scalar], group_norm_stats_finish.
#include "../../device/norm_stats.cuh"

using namespace vd::device;

VD_NORM_STATISTICS(group_norm_stats)
