// layer_norm_linear_q8_codes on Hopper: rows of 320 channels that become float8 codes in registers, and gated activations that leave codes
// (device/matmul_sm90_rows.cuh). Symbols: layer_norm_linear_q8_codes_sm90_<dtype>_<tile>_<geglu|swiglu>; dtype: of x.
// Measured: docs/kernels/layer_norm_linear.md.
#include "../../device/matmul_sm90_rows.cuh"

using namespace vd::device;

#define VD_TOKEN_ROWS(type, name)                                                                                                  \
  VD_KERNEL_OVERLAPPED(layer_norm_linear_q8_codes_sm90_##name##_normed_r128n128c_geglu, MatmulTokenNormParams, kMatmulThreads, 1,  \
                       matmul_sm90_token_rows<RowsConfig<type, 48, true, false, __nv_fp8_e4m3>>)                                   \
  VD_KERNEL_OVERLAPPED(layer_norm_linear_q8_codes_sm90_##name##_normed_r128n128c_swiglu, MatmulTokenNormParams, kMatmulThreads, 1, \
                       matmul_sm90_token_rows<RowsConfig<type, 48, true, true, __nv_fp8_e4m3>>)

VD_TOKEN_ROWS(__half, f16)
VD_TOKEN_ROWS(__nv_bfloat16, bf16)
