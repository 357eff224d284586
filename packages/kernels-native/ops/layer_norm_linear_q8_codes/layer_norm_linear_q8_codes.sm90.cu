// layer_norm_linear_q8_codes on Hopper: rows of 320 channels that become float8 codes in registers, and gated activations that leave codes
// (device/matmul_sm90_rows.cuh). Of float16: rows of bfloat16 take more registers than three warpgroups have.
// Symbols: layer_norm_linear_q8_codes_sm90_f16_<tile>_<geglu|swiglu>. Measured: docs/kernels/layer_norm_linear.md.
#include "../../device/matmul_sm90_rows.cuh"

using namespace vd::device;

#define VD_TOKEN_ROWS(suffix, isSwiglu)                                                                      \
  VD_KERNEL_OVERLAPPED(layer_norm_linear_q8_codes_sm90_f16_normed_r192n128c_##suffix, MatmulTokenNormParams, \
                       rows_threads(kMatmulTiles[48]), 1, matmul_sm90_token_rows<RowsConfig<__half, 48, true, isSwiglu, __nv_fp8_e4m3>>)

VD_TOKEN_ROWS(geglu, false)
VD_TOKEN_ROWS(swiglu, true)
