// group_norm_conv on Hopper: tiles that are normalised in shared memory, of 3x3 filters (device/matmul_sm90_normed.cuh) and of 3x1x1
// filters (device/matmul_sm90_walk.cuh). Symbols: group_norm_conv_sm90_<dtype>_<tile>[_moments]. Measured: docs/kernels/group_norm_conv.md.
#include "../../device/matmul_sm90_normed.cuh"
#include "../../device/matmul_sm90_walk.cuh"

using namespace vd::device;

#define VD_NORMED(type, name, tile, tileName)                                                                                         \
  VD_KERNEL_OVERLAPPED(group_norm_conv_sm90_##name##_##tileName, MatmulNormedParams, normed_threads(kMatmulTiles[tile]), 1,           \
                       matmul_sm90_normed<MatmulConfig<type, tile, false>>)                                                           \
  VD_KERNEL_OVERLAPPED(group_norm_conv_sm90_##name##_##tileName##_moments, MatmulNormedParams, normed_threads(kMatmulTiles[tile]), 1, \
                       matmul_sm90_normed<MatmulConfig<type, tile, false, false, false, false, type, true>>)
#define VD_WALK(type, name, tile, tileName)                                                                     \
  VD_KERNEL_OVERLAPPED(group_norm_conv_sm90_##name##_##tileName, MatmulNormedParams, kWalkThreads, 1,           \
                       matmul_sm90_walk<MatmulConfig<type, tile, false>>)                                       \
  VD_KERNEL_OVERLAPPED(group_norm_conv_sm90_##name##_##tileName##_moments, MatmulNormedParams, kWalkThreads, 1, \
                       matmul_sm90_walk<MatmulConfig<type, tile, false, false, false, false, type, true>>)
#define VD_NORMED_ALL(type, name)            \
  VD_NORMED(type, name, 36, normed_m128n256) \
  VD_NORMED(type, name, 37, normed_m256n128) \
  VD_WALK(type, name, 38, walk_m128n128)

VD_NORMED_ALL(__half, f16)
VD_NORMED_ALL(__nv_bfloat16, bf16)
