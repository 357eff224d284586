// group_norm_stats: mean and 1/sqrt(variance + eps) per group. Plan: device/norm_stats.cuh.
// Symbols: group_norm_stats_partial_<dtype>[_scalar], group_norm_stats_finish.
#include "../../device/norm_stats.cuh"

using namespace vd::device;

#define VD_PARTIAL(type, name)                                                                 \
  VD_KERNEL(group_norm_stats_partial_##name, NormPartialParams, 320, 2, norm_partial<type, 8>) \
  VD_KERNEL(group_norm_stats_partial_##name##_scalar, NormPartialParams, 320, 2, norm_partial<type, 1>)
VD_PARTIAL(float, f32)
VD_PARTIAL(__half, f16)
VD_PARTIAL(__nv_bfloat16, bf16)
VD_KERNEL(group_norm_stats_finish, NormFinishParams, 128, 1, norm_finish)
