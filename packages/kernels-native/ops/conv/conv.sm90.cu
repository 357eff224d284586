// conv on Hopper: implicit GEMM on the matrix core of device/matmul_sm90.cuh; A tiles are boxes of x shifted by the tap.
// Symbols: conv_sm90_<dtype>_<tile>[_moments].
// Measured: docs/kernels/conv.md.
#include "../../device/matmul_sm90.cuh"
#include "../../device/matmul_sm90_bordered.cuh"

using namespace vd::device;

#define VD_CONV(type, name, tile, tileName) \
  VD_KERNEL(conv_sm90_##name##_##tileName, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<type, tile, false>>)
#define VD_CONV_MOMENTS(type, name, tile, tileName)                                       \
  VD_KERNEL(conv_sm90_##name##_##tileName##_moments, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90<MatmulConfig<type, tile, false, false, false, false, type, true>>)
#define VD_CONV_SPLIT(type, name, tile, tileName) \
  VD_KERNEL(conv_sm90_##name##_split_##tileName, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90_split<MatmulConfig<type, tile, false>>)
#define VD_CONV_BORDERED(type, name, tile, tileName)                                     \
  VD_KERNEL(conv_sm90_##name##_bordered_##tileName, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90_bordered<MatmulConfig<type, tile, false>>)
#define VD_CONV_ALL(type, name)              \
  VD_CONV(type, name, 0, m128n256)           \
  VD_CONV(type, name, 1, m256n160)           \
  VD_CONV(type, name, 2, m128n128pp)         \
  VD_CONV(type, name, 3, m128n160pp)         \
  VD_CONV(type, name, 4, m128n128)           \
  VD_CONV(type, name, 5, m128n64)            \
  VD_CONV(type, name, 6, m256n32)            \
  VD_CONV(type, name, 7, m128n128ps)         \
  VD_CONV(type, name, 8, m128n160ps)         \
  VD_CONV(type, name, 30, m128n256w)         \
  VD_CONV(type, name, 35, m256n128w)         \
  VD_CONV(type, name, 50, m128n160w)         \
  VD_CONV_MOMENTS(type, name, 0, m128n256)   \
  VD_CONV_MOMENTS(type, name, 7, m128n128ps) \
  VD_CONV_MOMENTS(type, name, 8, m128n160ps) \
  VD_CONV_MOMENTS(type, name, 30, m128n256w) \
  VD_CONV_MOMENTS(type, name, 35, m256n128w) \
  VD_CONV_MOMENTS(type, name, 50, m128n160w) \
  VD_CONV_SPLIT(type, name, 20, m128n64)     \
  VD_CONV_SPLIT(type, name, 21, m128n128)    \
  VD_CONV_SPLIT(type, name, 22, m128n160)    \
  VD_CONV_SPLIT(type, name, 23, m128n256)    \
  VD_CONV_BORDERED(type, name, 45, m128n128) \
  VD_CONV_BORDERED(type, name, 46, m128n160)

VD_CONV_ALL(__half, f16)
VD_CONV_ALL(__nv_bfloat16, bf16)
