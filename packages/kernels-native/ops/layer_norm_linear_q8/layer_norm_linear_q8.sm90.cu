// layer_norm_linear_q8 on Hopper: rows of 320 channels that become float8 codes in registers (device/matmul_sm90_rows.cuh).
// Symbols: layer_norm_linear_q8_sm90_<dtype>_<tile>; dtype: of x and of the result. Measured: docs/kernels/layer_norm_linear.md.
#include "../../device/matmul_sm90_rows.cuh"

using namespace vd::device;

VD_KERNEL_OVERLAPPED(layer_norm_linear_q8_sm90_f16_normed_r128n160q, MatmulTokenNormParams, kMatmulThreads, 1,
                     matmul_sm90_token_rows<RowsConfig<__half, 49, false, false, __nv_fp8_e4m3>>)
VD_KERNEL_OVERLAPPED(layer_norm_linear_q8_sm90_bf16_normed_r128n160q, MatmulTokenNormParams, kMatmulThreads, 1,
                     matmul_sm90_token_rows<RowsConfig<__nv_bfloat16, 49, false, false, __nv_fp8_e4m3>>)
