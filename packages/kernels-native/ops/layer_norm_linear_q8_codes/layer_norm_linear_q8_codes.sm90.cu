// layer_norm_linear_q8_codes on Hopper: rows of 320 channels that become float8 codes in registers, and results that leave as codes again
// (device/matmul_sm90_rows.cuh). Gated activations of float16: rows of bfloat16 take more registers than three warpgroups have.
// Symbols: layer_norm_linear_q8_codes_sm90_<dtype>_<tile>[_<geglu|swiglu>]; dtype: of x. Measured: docs/kernels/layer_norm_linear.md.
#include "../../device/matmul_sm90_rows.cuh"

using namespace vd::device;

#define VD_TOKEN_ROWS(type, name, tile, tileName, isGated, isSwiglu)                                      \
  VD_KERNEL_OVERLAPPED(layer_norm_linear_q8_codes_sm90_##name##_normed_##tileName, MatmulTokenNormParams, \
                       rows_threads(kMatmulTiles[tile]), 1,                                               \
                       matmul_sm90_token_rows<RowsConfig<type, tile, isGated, isSwiglu, __nv_fp8_e4m3>>)

VD_TOKEN_ROWS(__half, f16, 48, r192n128c_geglu, true, false)
VD_TOKEN_ROWS(__half, f16, 48, r192n128c_swiglu, true, true)
VD_TOKEN_ROWS(__half, f16, 51, r128n192c, false, false)
VD_TOKEN_ROWS(__nv_bfloat16, bf16, 51, r128n192c, false, false)
