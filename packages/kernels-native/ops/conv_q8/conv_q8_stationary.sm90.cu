// conv_q8 on Hopper where filters stay in shared memory: device/matmul_sm90_stationary.cuh.
// Symbols: conv_q8_sm90_f8e4m3_<dtype>_<tile>[_moments]; dtype: of the result.
#include "../../device/matmul_sm90_stationary.cuh"

using namespace vd::device;

#define VD_CONV_Q8_STATIONARY(type, name)                                                                  \
  VD_KERNEL(conv_q8_sm90_f8e4m3_##name##_stationary_m128n128, MatmulSm90Params, kMatmulThreads, 1,         \
            matmul_sm90_stationary<MatmulConfig<type, 44, false, false, false, false, __nv_fp8_e4m3>>)     \
  VD_KERNEL(conv_q8_sm90_f8e4m3_##name##_stationary_m128n128_moments, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90_stationary<MatmulConfig<type, 44, false, false, false, false, __nv_fp8_e4m3, true>>)

VD_CONV_Q8_STATIONARY(__half, f16)
VD_CONV_Q8_STATIONARY(__nv_bfloat16, bf16)
