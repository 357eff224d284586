// layer_norm_linear on Hopper: rows of 320 channels that are normalised in registers (device/matmul_sm90_rows.cuh).
// Symbols: layer_norm_linear_sm90_<dtype>_<tile>[_geglu|_swiglu]. Measured: docs/kernels/layer_norm_linear.md.
#include "../../device/matmul_sm90_rows.cuh"

using namespace vd::device;

#define VD_TOKEN_ROWS(type, name)                                                                                        \
  VD_KERNEL_OVERLAPPED(layer_norm_linear_sm90_##name##_normed_r128n160, MatmulTokenNormParams, kMatmulThreads, 1,        \
                       matmul_sm90_token_rows<RowsConfig<type, 40, false>>)                                              \
  VD_KERNEL_OVERLAPPED(layer_norm_linear_sm90_##name##_normed_r128n128_geglu, MatmulTokenNormParams, kMatmulThreads, 1,  \
                       matmul_sm90_token_rows<RowsConfig<type, 39, true>>)                                               \
  VD_KERNEL_OVERLAPPED(layer_norm_linear_sm90_##name##_normed_r128n128_swiglu, MatmulTokenNormParams, kMatmulThreads, 1, \
                       matmul_sm90_token_rows<RowsConfig<type, 39, true, true>>)

VD_TOKEN_ROWS(__half, f16)
VD_TOKEN_ROWS(__nv_bfloat16, bf16)
