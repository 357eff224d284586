// linear on Hopper: y[m, n] = tail(sum_c [x | x2][m, c] · weight[n, c]), the matrix core of device/matmul_sm90.cuh with one
// tap. Symbols: linear_sm90_<dtype>_<tile>[_geglu].
// Measured: docs/kernels/linear.md.
#include "../../device/matmul_sm90.cuh"
#include "../../device/matmul_sm90_halves.cuh"
#include "../../device/matmul_sm90_rows.cuh"
#include "../../device/matmul_sm90_split.cuh"

using namespace vd::device;

#define VD_LINEAR(type, name, tile, tileName) \
  VD_KERNEL(linear_sm90_##name##_##tileName, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<type, tile, false, true>>)
#define VD_LINEAR_GEGLU(type, name, tile, tileName) \
  VD_KERNEL(linear_sm90_##name##_##tileName##_geglu, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<type, tile, true, true>>)
#define VD_LINEAR_ROWS(type, name)                                                                                                        \
  VD_KERNEL_OVERLAPPED(linear_sm90_##name##_r128n128_geglu, MatmulSm90Params, kMatmulThreads, 1,                                          \
                       matmul_sm90_rows<RowsConfig<type, 10, true>>)                                                                      \
  VD_KERNEL_OVERLAPPED(linear_sm90_##name##_r128n160, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90_rows<RowsConfig<type, 11, false>>) \
  VD_KERNEL_OVERLAPPED(linear_sm90_##name##_h128n256_geglu, MatmulSm90Params, kMatmulThreads, 1,                                          \
                       matmul_sm90_halves<HalvesConfig<type, 12, 2>>)
#define VD_LINEAR_SPLIT(type, name, tile, tileName)                                     \
  VD_KERNEL(linear_sm90_##name##_split_##tileName, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90_split<MatmulConfig<type, tile, false, true>>)
#define VD_LINEAR_ALL(type, name)            \
  VD_LINEAR_ROWS(type, name)                 \
  VD_LINEAR(type, name, 0, m128n256)         \
  VD_LINEAR(type, name, 1, m256n160)         \
  VD_LINEAR(type, name, 2, m128n128pp)       \
  VD_LINEAR(type, name, 3, m128n160pp)       \
  VD_LINEAR(type, name, 4, m128n128)         \
  VD_LINEAR(type, name, 5, m128n64)          \
  VD_LINEAR(type, name, 6, m256n32)          \
  VD_LINEAR(type, name, 7, m128n128ps)       \
  VD_LINEAR(type, name, 8, m128n160ps)       \
  VD_LINEAR_GEGLU(type, name, 0, m128n256)   \
  VD_LINEAR_GEGLU(type, name, 2, m128n128pp) \
  VD_LINEAR_GEGLU(type, name, 5, m128n64)    \
  VD_LINEAR_GEGLU(type, name, 7, m128n128ps) \
  VD_LINEAR_GEGLU(type, name, 9, m128n256s)  \
  VD_LINEAR_SPLIT(type, name, 20, m128n64)   \
  VD_LINEAR_SPLIT(type, name, 21, m128n128)  \
  VD_LINEAR_SPLIT(type, name, 22, m128n160)  \
  VD_LINEAR_SPLIT(type, name, 23, m128n256)

VD_LINEAR_ALL(__half, f16)
VD_LINEAR_ALL(__nv_bfloat16, bf16)
