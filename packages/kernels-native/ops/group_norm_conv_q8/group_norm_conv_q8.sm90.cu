// group_norm_conv_q8 on Hopper: 3x1x1 filters over frames that become float8 codes in shared memory (device/matmul_sm90_walk.cuh).
// Symbols: group_norm_conv_q8_sm90_<dtype>_<tile>[_moments]; dtype: of x and of the result. Measured: docs/kernels/group_norm_conv.md.
#include "../../device/matmul_sm90_walk.cuh"

using namespace vd::device;

#define VD_WALK(type, name)                                                                                               \
  VD_KERNEL_OVERLAPPED(group_norm_conv_q8_sm90_##name##_walk_codes_m128n128, MatmulNormedParams, kWalkThreads, 1,         \
                       matmul_sm90_walk<MatmulConfig<type, 47, false, false, false, false, __nv_fp8_e4m3>>)               \
  VD_KERNEL_OVERLAPPED(group_norm_conv_q8_sm90_##name##_walk_codes_m128n128_moments, MatmulNormedParams, kWalkThreads, 1, \
                       matmul_sm90_walk<MatmulConfig<type, 47, false, false, false, false, __nv_fp8_e4m3, true>>)

VD_WALK(__half, f16)
VD_WALK(__nv_bfloat16, bf16)
