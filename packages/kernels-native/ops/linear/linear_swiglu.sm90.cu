// linear with swiglu on Hopper: the gated tiles of linear.sm90.cu, with silu in the place of gelu.
// Symbols: linear_sm90_<dtype>_<tile>_swiglu.
#include "../../device/matmul_sm90.cuh"
#include "../../device/matmul_sm90_halves.cuh"
#include "../../device/matmul_sm90_rows.cuh"

using namespace vd::device;

#define VD_LINEAR_SWIGLU(type, name, tile, tileName)                                       \
  VD_KERNEL(linear_sm90_##name##_##tileName##_swiglu, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90<MatmulConfig<type, tile, true, true, true>>)
#define VD_LINEAR_SWIGLU_ALL(type, name)                                                          \
  VD_KERNEL_OVERLAPPED(linear_sm90_##name##_r128n128_swiglu, MatmulSm90Params, kMatmulThreads, 1, \
                       matmul_sm90_rows<RowsConfig<type, 10, true, true>>)                        \
  VD_KERNEL_OVERLAPPED(linear_sm90_##name##_h128n256_swiglu, MatmulSm90Params, kMatmulThreads, 1, \
                       matmul_sm90_halves<HalvesConfig<type, 12, 2, true>>)                       \
  VD_LINEAR_SWIGLU(type, name, 0, m128n256)                                                       \
  VD_LINEAR_SWIGLU(type, name, 2, m128n128pp)                                                     \
  VD_LINEAR_SWIGLU(type, name, 5, m128n64)                                                        \
  VD_LINEAR_SWIGLU(type, name, 7, m128n128ps)                                                     \
  VD_LINEAR_SWIGLU(type, name, 9, m128n256s)

VD_LINEAR_SWIGLU_ALL(__half, f16)
VD_LINEAR_SWIGLU_ALL(__nv_bfloat16, bf16)
