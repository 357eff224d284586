// conv on Hopper where filters stay in shared memory: device/matmul_sm90_stationary.cuh. Symbols: conv_sm90_<dtype>_<tile>.
// Measured: docs/kernels/conv.md.
#include "../../device/matmul_sm90_stationary.cuh"

using namespace vd::device;

#define VD_CONV_STATIONARY(type, name)                                                  \
  VD_KERNEL(conv_sm90_##name##_stationary_m128n64, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90_stationary<MatmulConfig<type, 43, false>>)

VD_CONV_STATIONARY(__half, f16)
VD_CONV_STATIONARY(__nv_bfloat16, bf16)
